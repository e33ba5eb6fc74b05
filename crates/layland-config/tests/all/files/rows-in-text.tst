; TASK DESCRIPTION FILE
title An example
maxtime 27
task pump  HIGH  9  3
task fan   LOW  12  2
end
