mod common;
use layland_linux::{margin_of, with_slack, text};
use layland_model::{Duration, Rate};
use layland_policy::registry;
#[test]
fn dump() {
    let name = std::env::var("DEMO").unwrap_or("mixed-overrun".into());
    let spec = std::env::var("SPEC").unwrap();
    let t = layland_config::demo(&name).unwrap().text;
    let set = layland_config::read(&name, t.as_bytes(), layland_config::Format::Toml, &layland_config::Host::default()).unwrap();
    let system = with_slack(&set.system, |own| margin_of(own, &Rate::new(1, 20)));
    let policy = registry::build(&spec, &system).unwrap();
    let outcome = common::try_run(&system, policy, Duration::from_ms(1200)).unwrap();
    let m = &outcome.measured; eprintln!("{spec} release {:?} timer {:?} completion {:?} switch {:?} budget {:?} dispatch {:?}", m.release.max(), m.timer.max(), m.completion.max(), m.switch.max(), m.budget.figures(), m.dispatch.max());
    let file = text::LogFile { policy: spec, seed: 0, set: String::new(), log: outcome.log };
    let mut out = Vec::new();
    text::write(&mut out, &file).unwrap();
    std::fs::write("/tmp/mcpol_dump.txt", out).unwrap();
}
