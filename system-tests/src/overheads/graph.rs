//! Parses the output of the kernel's function tracer (`function_graph`): the duration of each call
//! of a function.
//!
//! | a line | means |
//! |---|---|
//! | ` 3)  2.345 us  \|  find_later_rq();` | a call in which no other traced function was called |
//! | ` 3)            \|  push_dl_task() {` | a call begins |
//! | ` 3)  9.876 us  \|  } /* push_dl_task */` | it ends (option `funcgraph-tail`) |
//!
//! The kernel puts a sign before long times (`+`, `!`, `#`, `*`, `@`, `$`). Calls nest per CPU. A
//! call whose start is not in the text has no figures.

/// One call of a traced function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The function.
    pub function: String,
    /// Its duration, in nanoseconds of the kernel's trace clock, including the tracer's own cost.
    pub ns: u64,
    /// The traced functions that it called directly, in order.
    pub within: Vec<String>,
}

/// The complete calls in a text, in the order of their ends.
///
/// ```
/// use layland_system_tests::overheads::graph::calls;
/// let text = " 1) | push_dl_task() {\n 1) 1.500 us | set_task_cpu();\n 1) + 12.000 us | } /* push_dl_task */\n";
/// let calls = calls(text);
/// assert_eq!((calls[1].function.as_str(), calls[1].ns), ("push_dl_task", 12_000));
/// assert_eq!(calls[1].within, ["set_task_cpu"]);
/// ```
#[must_use]
pub fn calls(text: &str) -> Vec<Call> {
    let mut done = Vec::new();
    // Per CPU: the open calls, with the functions that they called.
    let mut open: Vec<Vec<(String, Vec<String>)>> = Vec::new();
    for line in text.lines() {
        let Some((cpu, rest)) = line.split_once(')') else { continue };
        let Ok(cpu) = cpu.trim().parse::<usize>() else { continue };
        let Some((head, code)) = rest.rsplit_once('|') else { continue };
        if open.len() <= cpu {
            open.resize_with(cpu + 1, Vec::new);
        }
        let (stack, code) = (&mut open[cpu], code.trim());
        let called = |stack: &mut Vec<(String, Vec<String>)>, function: &str| {
            if let Some((_, within)) = stack.last_mut() {
                within.push(function.to_owned());
            }
        };
        if let Some((function, _)) = code.strip_suffix('{').and_then(|code| code.split_once('(')) {
            called(stack, function);
            stack.push((function.to_owned(), Vec::new()));
        } else if let Some(tail) = code.strip_prefix("} /*") {
            let function = tail.trim().trim_end_matches("*/").trim();
            // If events were lost, some open calls never end: drop them.
            while stack.last().is_some_and(|(top, _)| top != function) {
                stack.pop();
            }
            if let (Some((function, within)), Some(ns)) = (stack.pop(), duration(head)) {
                done.push(Call { function, ns, within });
            }
        } else if let (Some((function, _)), Some(ns)) = (code.split_once("();"), duration(head)) {
            called(stack, function);
            done.push(Call { function: function.to_owned(), ns, within: Vec::new() });
        }
    }
    done
}

/// Parses the time in a line: `12.345 us`, in nanoseconds.
fn duration(head: &str) -> Option<u64> {
    let number = head.trim_end().strip_suffix("us")?.split_whitespace().next_back()?;
    let (whole, part) = number.split_once('.')?;
    // There are always three decimals.
    let ns = |digits: &str| digits.parse::<u64>().ok();
    (part.len() == 3).then_some(())?;
    ns(whole)?.checked_mul(1_000)?.checked_add(ns(part)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# tracer: function_graph
#
# CPU  TASK/PID         DURATION                  FUNCTION CALLS
# |     |    |           |   |                     |   |   |   |
 1)   t3-77       |               |  push_dl_task() {
 2)   t4-78       |   0.412 us    |  push_dl_task();
 1)   t3-77       |   0.700 us    |    find_lock_later_rq();
 ------------------------------------------
 2)   t4-78       =>     t9-83
 ------------------------------------------
 1)   t3-77       |   1.250 us    |    set_task_cpu();
 1)   t3-77       | ! 104.002 us  |  } /* push_dl_task */
 2)   t9-83       |   9.000 us    |  } /* dl_task_timer */
";

    #[test]
    fn calls_nest_on_their_cpus() {
        let calls = calls(TEXT);
        let told: Vec<_> = calls.iter().map(|call| (call.function.as_str(), call.ns)).collect();
        assert_eq!(
            told,
            [
                ("push_dl_task", 412),
                ("find_lock_later_rq", 700),
                ("set_task_cpu", 1_250),
                ("push_dl_task", 104_002),
            ]
        );
        assert_eq!(calls[3].within, ["find_lock_later_rq", "set_task_cpu"]);
        assert_eq!(calls[0].within, [""; 0]);
    }

    #[test]
    fn what_is_damaged_is_no_call() {
        for line in [
            " 1) | }",
            " x)   1.000 us    |  f();",
            " 1)   1.0 us    |  f();",
            " 1)   99999999999999999999.000 us    |  f();",
            " 1)   1.000 us    |  } /* f */",
            " 1)   us    |  f();",
        ] {
            assert_eq!(calls(line), [], "{line}");
        }
        // The end of a call whose own start was lost does not close other calls.
        let text = " 0) |  a() {\n 0) |    b() {\n 0)   5.000 us    |  } /* a */\n";
        assert_eq!(
            calls(text),
            [Call { function: "a".into(), ns: 5_000, within: vec!["b".into()] }]
        );
    }
}
