//! The required and the forbidden contents of a page.

use layland_model::{
    CpuId, CpuSet, Criticality, Duration, JobId, Note, Service, System, Task, TaskId, Time,
};
use layland_report::{
    Answer, Distribution, Growth, Guarantee, GuaranteedTask, Guarantees, Line, Report, Run, Series,
    Severity, Table, TaskBound, TestResult, blame, headline,
};
use layland_trace::{Job, JobEnd, Labels, Mark, MarkKind, Recorder, Segment, Trace};

const NAUGHTY: [&str; 4] = [
    "<script>window.laylandInjected=1</script>",
    "\"'&",
    "</script><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }}<!--",
];

fn ms(ms: i64) -> Time {
    Time::from_ms(ms)
}

fn run(
    trace: &mut Trace,
    task: u32,
    seq: u64,
    cpu: u32,
    arrival: i64,
    deadline: i64,
    span: (i64, i64),
) {
    let id = JobId { task: TaskId(task), seq };
    let job = Job { id, arrival: ms(arrival), release: ms(arrival), deadline: ms(deadline) };
    let (start, end) = (ms(span.0), ms(span.1));
    trace.executed(&Segment { job: id, cpu: CpuId(cpu), start, end, overhead: Duration::ZERO });
    trace.ended(&job, end, JobEnd::Completed, Service::from_ms(span.1 - span.0));
}

/// Task 0 is pinned to CPU 0, which task 1 holds; CPU 1 is idle from 2 ms on.
fn late() -> Trace {
    let mut trace = Trace::default();
    run(&mut trace, 2, 0, 1, 0, 6, (0, 2));
    run(&mut trace, 1, 0, 0, 0, 6, (0, 6));
    run(&mut trace, 0, 0, 0, 0, 6, (6, 8));
    trace.over(ms(12), false);
    trace
}

fn labels(names: &[&str]) -> Labels {
    Labels {
        tasks: names.iter().map(|&name| name.to_owned()).collect(),
        cpus: 2,
        ..Labels::default()
    }
}

fn naughty() -> Report {
    let mut report = Report::new(NAUGHTY[0], labels(&NAUGHTY));
    report.runs = vec![Run::new(NAUGHTY[2], late()), Run::new(NAUGHTY[1], Trace::default())];
    report.runs[0].note = Some(NAUGHTY[3].to_owned());
    report.lines = NAUGHTY.map(|text| Line::new(Severity::Bad, text)).to_vec();
    report.provenance = NAUGHTY.concat();
    report.tables.push(Table {
        title: NAUGHTY[0].to_owned(),
        headings: NAUGHTY.map(str::to_owned).to_vec(),
        rows: vec![NAUGHTY.map(str::to_owned).to_vec()],
        marked: vec![(0, Severity::BrokenBound)],
        notes: vec![NAUGHTY[2].to_owned()],
    });
    let series = Series::new(NAUGHTY[0], [Duration::from_ms(1)]);
    report.distributions =
        vec![Distribution { title: NAUGHTY[2].to_owned(), series: vec![series] }];
    report
}

#[test]
fn no_name_is_taken_for_markup() {
    let html = naughty().html();
    assert!(!html.contains("<script>window"), "a name ends up as an element");
    assert!(!html.contains("<img"), "a name ends up as an element");
    assert!(html.contains("{{ 7 * 7 }}"), "a name is taken for a template");
    assert!(html.contains("&lt;script&gt;window.laylandInjected"));
    // Every script element is one of ours. Foreign ones would change the counts.
    let scripts = html.matches("<script").count();
    assert_eq!((scripts, html.matches("</script>").count()), (5, 5));
    let data = html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["names"][2], NAUGHTY[2]);
}

#[test]
fn a_page_refers_to_nothing_outside() {
    let html = naughty().html();
    for word in
        ["src=\"", "href=\"http", "@import", "url(", "fetch(", "XMLHttpRequest", "WebSocket"]
    {
        assert!(!html.contains(word), "{word}");
    }
    assert!(html.contains("default-src 'none'"));
    assert!(html.contains("Leon Sorokin"), "the licence of uPlot is kept");
}

#[test]
fn criticality_levels_are_told_by_name() {
    let mut trace = late();
    for (at, level) in [(2, 1), (5, 2), (6, 0), (9, 1)] {
        let kind = MarkKind::Note(Note::Indicator { cpu: CpuId(1), level: Criticality(level) });
        trace.marked(&Mark { at: ms(at), kind });
    }
    let mut report = Report::new("x", labels(&["a", "b", "c"]));
    report.labels.levels = vec!["low".to_owned(), NAUGHTY[0].to_owned()];
    report.runs = vec![Run::new("amc", trace), Run::new("p-rm", late())];
    let html = report.html();
    let told = "The criticality level of CPU 1 is raised 2 times, for 7 ms in all: ";
    assert_eq!(html.matches(told).count(), 1);
    assert!(html.contains("level 2 from 5 ms to 6 ms"), "a level without a name");
    assert!(html.contains("The criticality level of CPU 0 is not raised."));
    let data = html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["levels"], serde_json::json!(["low", NAUGHTY[0], "level 2"]));
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    assert_eq!(naughty().html(), naughty().html());
}

#[test]
fn the_most_severe_line_is_the_first() {
    let mut report = Report::new("x", labels(&["a"]));
    report.lines = vec![
        Line::new(Severity::Note, "a note"),
        Line::new(Severity::Bad, "a miss"),
        Line::new(Severity::BrokenBound, "tardiness 9ms exceeds the bound 7ms"),
    ];
    let html = report.html();
    let at = |text: &str| html.find(text).unwrap();
    assert!(at("exceeds the bound") < at("a miss") && at("a miss") < at("a note"));
    assert!(html.contains("BOUND BROKEN"));
}

#[test]
fn a_headline_says_who_misses_and_who_does_not() {
    let mut good = Trace::default();
    run(&mut good, 0, 0, 0, 0, 6, (0, 2));
    good.over(ms(12), false);
    let runs = [Run::new("dl", late()), Run::new("dl-sp", good)];
    let lines = headline(&runs, &labels(&["tau1", "tau2", "tau3"]));
    let expected =
        "dl misses 1 of 3 deadlines (tau1), by up to 2 ms, while dl-sp meets its only one.";
    assert_eq!(lines, [Line::new(Severity::Bad, expected)]);
    let lines = headline(&runs[1..], &labels(&["tau1"]));
    assert_eq!(lines[0].severity, Severity::Good);
    assert_eq!(headline(&[], &labels(&[])), []);
}

#[test]
fn growing_tardiness_is_told() {
    let mut trace = Trace::default();
    run(&mut trace, 0, 0, 0, 0, 2, (0, 3));
    run(&mut trace, 0, 1, 0, 2, 4, (3, 6));
    run(&mut trace, 0, 2, 0, 4, 8, (6, 13));
    trace.over(ms(13), false);
    let lines = headline(&[Run::new("g-edf", trace)], &labels(&["a"]));
    let expected = "Tardiness under g-edf grows from 1 ms, for the deadline at 2 ms, to 5 ms, for the one at 8 ms, and \
                    still grows in the second half of what is shown.";
    assert_eq!(lines[1].text, expected);
}

#[test]
fn the_first_miss_is_explained() {
    let task = |name: &str, cpus: &[u32]| Task {
        affinity: Some(cpus.iter().map(|&cpu| CpuId(cpu)).fold(CpuSet::new(), |mut set, cpu| {
            set.insert(cpu);
            set
        })),
        ..Task::implicit(name, Service::from_ms(2), Duration::from_ms(6))
    };
    let tasks = vec![task("tau1", &[0]), task("tau2", &[0, 1]), task("tau3", &[1])];
    let system = System::new(2, tasks);
    let line = blame(&Run::new("dl", late()), &Labels::of(&system), &system).unwrap();
    let expected = "First miss under dl: tau1, job 1, due at 6 ms, done at 8 ms, 2 ms late. Before its deadline it \
                    waited for 6 ms, while CPU 0, the only one that it may use, was held by tau2 for 6 ms, although \
                    CPU 1, where tau2 may run, was idle for 4 ms of that time.";
    assert_eq!(line.text, expected);
    assert_eq!(blame(&Run::new("none", Trace::default()), &Labels::of(&system), &system), None);
}

/// Messages write names between backticks, which a page shows as code. No name becomes markup, and
/// a backtick without a second one stays as it is.
#[test]
fn what_is_between_backticks_is_code() {
    let mut report = naughty();
    let texts = ["`heavy` is late on `a<b>`", "one ` alone", "`a` and `b"];
    report.lines = texts.map(|text| Line::new(Severity::Bad, text)).to_vec();
    let page = report.html();
    for shown in [
        "<code>heavy</code> is late on <code>a&lt;b&gt;</code>",
        "one ` alone",
        "<code>a</code> and `b",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(!page.contains("`heavy`") && !page.contains("on a<b>"));
}

#[test]
fn a_large_sample_is_never_drawn_too_high() {
    let values = || (0..1234).map(|k| Duration::from_ns(k * k));
    let series = Series::new("x", values());
    assert_eq!(series.len(), 1234);
    let json = serde_json::to_value(&series).unwrap();
    let steps = json["steps"].as_array().unwrap();
    assert!(steps.len() <= 500);
    let mut sum = 0;
    for step in steps {
        let (value, count) = (step[0].as_i64().unwrap(), step[1].as_i64().unwrap());
        sum += count;
        // The share up to a drawn value is exactly that of the sample.
        assert_eq!(values().filter(|ns| ns.ns() <= value).count() as i64, sum);
    }
}

/// One policy with one task, all of whose texts contain markup.
fn guarantees() -> Guarantees {
    let [a, b, c, d] = NAUGHTY.map(str::to_owned);
    let ms = Duration::from_ms;
    let test = TestResult {
        name: a.clone(),
        title: b,
        kind: c.clone(),
        answer: Answer::Yes,
        reasons: vec![d.clone()],
        sources: vec![a.clone(), c.clone()],
    };
    let task = GuaranteedTask { name: c, wcet: ms(1), period: ms(4), deadline: ms(4) };
    let policy = Guarantee {
        policy: a,
        answer: Answer::Yes,
        reasons: vec![d.clone(); 5],
        decided_by: Some(0),
        margin: Some(Growth::of(1001)),
        bounds: vec![TaskBound::Response { within: ms(3), exact: true, by: d }],
        tests: vec![test.clone()],
    };
    Guarantees {
        tasks: vec![task],
        policies: vec![policy],
        any_policy: vec![test],
        are_named: true,
    }
}

#[test]
fn guarantees_escape_names_and_need_no_script() {
    let mut report = Report::new("x", Labels::default());
    report.guarantees = Some(guarantees());
    report.lines = guarantees().headline();
    let html = report.html();
    assert!(!html.contains("<script>window") && !html.contains("<img"), "a name is an element");
    assert!(html.contains("{{ 7 * 7 }}"), "a name is taken for a template");
    // The data and our own script, without the library because there are no distributions.
    assert_eq!(html.matches("<script").count(), 2);
    assert!(!html.contains("uPlot 1"), "a licence of what is not there");
    // Everything is present without a script, as text: verdict, bound, limit, sources.
    for text in ["✓</span> yes", "<b>3 ms</b>", "× 1.001", "may grow by 0.1 %", "id=\"source-2\""]
    {
        assert!(html.contains(text), "{text}");
    }
    assert_eq!(html, report.html());
}

#[test]
fn a_headline_tells_what_is_guaranteed() {
    let mut found = guarantees();
    let policy = |name: &str, answer| Guarantee {
        policy: name.to_owned(),
        answer,
        ..guarantees().policies[0].clone()
    };
    found.policies = vec![
        policy("a", Answer::Yes),
        policy("b", Answer::No),
        policy("c", Answer::Unknown),
        policy("d", Answer::Yes),
        policy("e", Answer::Refused),
    ];
    let expected = [
        Line::new(Severity::Good, "Every deadline is guaranteed under a and d."),
        Line::new(Severity::Bad, "Not every deadline can be kept under b."),
        Line::new(Severity::Bad, "The set is refused by e."),
        Line::new(Severity::Note, "No test decides under c."),
    ];
    assert_eq!(found.headline(), expected);
    // If the user asked for any policy that works, the others are a note.
    let open = Guarantees { are_named: false, ..found.clone() };
    let severities: Vec<Severity> = open.headline().iter().map(|line| line.severity).collect();
    assert_eq!(severities, [Severity::Good, Severity::Note, Severity::Note, Severity::Note]);
    let without =
        Guarantees { policies: vec![policy("b", Answer::No)], are_named: false, ..found.clone() };
    assert_eq!(without.headline()[0].severity, Severity::Bad);
    // Of many policies, those with the largest margins are named, and the others counted.
    found.policies = (0..25)
        .map(|k| Guarantee {
            margin: Some(Growth::of(1000 + k)),
            ..policy(&format!("p{k}"), Answer::Yes)
        })
        .collect();
    let text = "Every deadline is guaranteed under p24, p23, p22, p21, p20 and 20 more policies.";
    assert_eq!(found.headline(), [Line::new(Severity::Good, text)]);
}

#[test]
fn a_broken_rule_is_not_called_a_bound() {
    let mut report = Report::new("x", labels(&["a"]));
    report.lines = vec![Line::new(Severity::BrokenRule, "two CPUs run one job")];
    let html = report.html();
    assert!(html.contains("RULE BROKEN") && !html.contains("BOUND BROKEN"));
}

/// Returns the texts of the elements of this kind that
/// a browser would run or apply; data has a type.
fn inline<'a>(page: &'a str, element: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let texts = page.split(&open).skip(1);
    texts.map(|rest| rest.split_once(&close).expect("it ends").0).collect()
}

#[test]
fn a_page_runs_what_it_was_made_with_alone() {
    use base64::Engine;
    use sha2::Digest;
    let mut tables = Report::new("Tables", labels(&NAUGHTY));
    tables.lines.push(Line::new(Severity::Note, NAUGHTY[0]));
    for (report, count) in [(naughty(), 2), (tables, 1)] {
        let page = report.html();
        assert_eq!(page, report.html());
        let hashes = |element: &str| {
            let texts = inline(&page, element);
            assert_eq!(texts.len(), count, "{element}");
            let hash = |text: &&str| {
                let digest = sha2::Sha256::digest(text);
                format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(digest))
            };
            texts.iter().map(hash).collect::<Vec<_>>().join(" ")
        };
        let (scripts, styles) = (hashes("script"), hashes("style"));
        let policy = format!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {scripts}; \
             style-src {styles}; img-src data:; base-uri 'none'; form-action 'none'\">"
        );
        assert_eq!(page.matches("Content-Security-Policy").count(), 1);
        assert!(page.contains(&policy), "{policy}");
        assert!(
            page.find(&policy) < page.find("<style"),
            "what comes before it is not bound by it"
        );
        assert!(!page.contains("unsafe-"), "all may run");
        // A style attribute would have no effect.
        let elements = page.split("<script").next().unwrap_or_default();
        assert!(!elements.contains(" style=\""), "it would be refused");
    }
}
