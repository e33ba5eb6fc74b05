// Reads sets of graphs as numbers, and writes for each whether the library DAG-scheduling accepts it: under EDF, and with
// fixed priorities.
#include "dagSched/tests.h"
#include <iostream>
using namespace dagSched;
int main() {
    int cpus, graphs;
    while (std::cin >> cpus >> graphs) {
        Taskset set;
        for (int k = 0; k < graphs; ++k) {
            float period, deadline;
            int nodes, edges;
            std::cin >> period >> deadline >> nodes >> edges;
            DAGTask task(period, deadline);
            std::vector<SubTask*> all;
            for (int j = 0; j < nodes; ++j) {
                all.push_back(new SubTask);
                all[j]->id = j;
                std::cin >> all[j]->c;
            }
            for (int j = 0; j < edges; ++j) {
                int from, to;
                std::cin >> from >> to;
                all[from]->succ.push_back(all[to]);
                all[to]->pred.push_back(all[from]);
            }
            task.setVertices(all);
            task.topologicalSort();
            task.computeLength();
            task.computeVolume();
            task.computeWorstCaseWorkload();
            set.tasks.push_back(task);
        }
        std::cout << GP_FP_EDF_Melani2015_C(set, cpus) << GP_FP_FTP_Melani2015_C(set, cpus) << std::endl;
    }
}
