// SchedCAT's simulator of global EDF on a list of tasks, for `measure_speed.py`: it calls what SchedCAT's Python
// modules call, without Python in between.
//
//     schedcat_simulation TASKS CPUS MICROSECONDS
//
// TASKS has a line for each task: its WCET and its period in microseconds. Prints the jobs that ended, and the largest
// tardiness in microseconds.

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "tasks.h"
#include "edf/sim.h"

int main(int count, char **arguments) {
    if (count != 4) {
        std::cerr << "usage: schedcat_simulation TASKS CPUS MICROSECONDS\n";
        return 2;
    }
    std::ifstream file(arguments[1]);
    TaskSet tasks;
    unsigned long wcet, period;
    while (file >> wcet >> period)
        tasks.add_task(wcet, period);
    Stats stats = edf_observe_tardiness(std::atoi(arguments[2]), tasks, std::atol(arguments[3]));
    std::cout << stats.num_ok_jobs + stats.num_tardy_jobs << ' ' << stats.max_tardiness << '\n';
    return 0;
}
