//! Kernels that each lack one requirement.

use super::*;
use crate::machine::btf::blob::Blob;
use crate::machine::btf::kind;

/// The features of a kernel that the engine requires.
#[derive(Clone)]
struct Kernel {
    /// Each function with the types of its parameters.
    functions: Vec<(&'static str, Vec<&'static str>)>,
    members: Vec<&'static str>,
    flags: Vec<&'static str>,
}

impl Kernel {
    fn whole() -> Kernel {
        let functions = FUNCTIONS.map(|(name, count)| (name, vec!["u64"; count]));
        Kernel { functions: functions.to_vec(), members: MEMBERS.to_vec(), flags: FLAGS.to_vec() }
    }

    fn function(&mut self, name: &str) -> &mut Vec<&'static str> {
        &mut self.functions.iter_mut().find(|(of, _)| *of == name).unwrap().1
    }

    fn btf(&self) -> io::Result<Btf> {
        let mut blob = Blob::default();
        let u64 = blob.int("u64");
        let aux = blob.structure("bpf_prog_aux", &[("id", u64)]);
        let aux = blob.refer(kind::CONST, "", aux);
        let aux = blob.refer(kind::POINTER, "", aux);
        for (name, parameters) in &self.functions {
            let of = |name| (name, if name == "aux" { aux } else { u64 });
            blob.function(name, &parameters.iter().copied().map(of).collect::<Vec<_>>(), u64);
        }
        let members: Vec<_> = self.members.iter().map(|&name| (name, u64)).collect();
        if !members.is_empty() {
            blob.structure(OPERATIONS, &members);
        }
        let flags: Vec<_> = self.flags.iter().zip(0..).map(|(&name, at)| (name, 1 << at)).collect();
        blob.enumeration64("scx_ops_flags", &flags);
        Btf::parse(blob.bytes()).map_err(io::Error::other)
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        idle().judge(|| self.btf(), |_| true).obstacles
    }
}

fn idle() -> KernelFiles {
    KernelFiles {
        release: "7.3.4+deb13-cloud-amd64".into(),
        version: "#1 SMP PREEMPT_DYNAMIC Debian 7.3.4-1~bpo13+1".into(),
        command_line: "quiet nohz_full=1-3 rcu_nocbs=1-3 irqaffinity=0".into(),
        isolated: Some(String::new()),
        state: Some("disabled".into()),
        loaded: None,
    }
}

fn judged(seen: &KernelFiles) -> ExtSupport {
    seen.judge(|| Kernel::whole().btf(), |_| true)
}

#[test]
fn a_whole_kernel_has_no_obstacle() {
    assert_eq!(judged(&idle()), ExtSupport { obstacles: Vec::new(), has_timers: true });
}

#[test]
fn each_defect_of_a_function_is_named() {
    for (name, _) in FUNCTIONS {
        let mut kernel = Kernel::whole();
        kernel.functions.retain(|(of, _)| *of != name);
        assert_eq!(kernel.obstacles(), [Obstacle::Function { name, defect: Defect::Missing }]);
        let mut kernel = Kernel::whole();
        kernel.function(name).push("aux");
        let defect = Defect::Shows("aux".into());
        assert_eq!(kernel.obstacles(), [Obstacle::Function { name, defect }]);
        let mut kernel = Kernel::whole();
        kernel.function(name).push("flags");
        let [Obstacle::Function { name: of, defect: Defect::Takes(prototype) }] =
            &kernel.obstacles()[..]
        else {
            panic!("{name}: {:?}", kernel.obstacles());
        };
        assert_eq!(*of, name);
        assert!(prototype.ends_with("u64 flags) -> u64"), "{prototype}");
    }
    // Fewer parameters do not match the programs' declaration, either.
    let mut kernel = Kernel::whole();
    kernel.function("scx_bpf_kick_cpu").pop();
    let defect = Defect::Takes("(u64 u64) -> u64".into());
    assert_eq!(kernel.obstacles(), [Obstacle::Function { name: "scx_bpf_kick_cpu", defect }]);
}

#[test]
fn each_member_and_flag_is_named() {
    for name in MEMBERS {
        let mut kernel = Kernel::whole();
        kernel.members.retain(|of| *of != name);
        assert_eq!(kernel.obstacles(), [Obstacle::Member(name)]);
    }
    for name in FLAGS {
        let mut kernel = Kernel::whole();
        kernel.flags.retain(|of| *of != name);
        assert_eq!(kernel.obstacles(), [Obstacle::Flag(name)]);
    }
    let kernel = Kernel { members: Vec::new(), ..Kernel::whole() };
    assert_eq!(kernel.obstacles(), [Obstacle::NoSchedExt]);
}

#[test]
fn what_a_kernel_lacks_is_said_before_its_btf_is_read() {
    let none = || -> io::Result<Btf> { Err(io::ErrorKind::NotFound.into()) };
    let old = KernelFiles { release: "6.12.95+deb12-cloud-amd64".into(), state: None, ..idle() };
    let support = old.judge(|| panic!("nobody reads it"), |_| true);
    assert_eq!(support.obstacles, [Obstacle::Old(old.release.clone()), Obstacle::NoSchedExt]);
    let [obstacle] = &idle().judge(none, |_| true).obstacles[..] else { panic!() };
    assert!(matches!(obstacle, Obstacle::NoBtf(_)), "{obstacle}");
    assert_eq!(obstacle.to_string(), "/sys/kernel/btf/vmlinux cannot be used: entity not found");
    for (release, version) in
        [("7.2.12+deb13", Some((7, 2))), ("7.2-rc1", Some((7, 2))), ("10.0", Some((10, 0)))]
    {
        assert_eq!(version_of(release), version);
    }
    assert_eq!(version_of("next"), None);
}

#[test]
fn another_scheduler_is_named() {
    let enabled = |state: &str, loaded: Option<&str>| KernelFiles {
        state: Some(state.into()),
        loaded: loaded.map(Into::into),
        ..idle()
    };
    let obstacles = judged(&enabled("enabled", Some("rusty_1.0"))).obstacles;
    assert_eq!(obstacles, [Obstacle::Loaded("rusty_1.0".into())]);
    let obstacles = judged(&enabled("enabling", None)).obstacles;
    assert_eq!(obstacles, [Obstacle::Loaded("a scheduler".into())]);
}

#[test]
fn isolated_domains_are_an_obstacle_and_other_isolation_is_not() {
    for (command_line, word) in [
        ("quiet isolcpus=1-3 ro", Some("isolcpus=1-3")),
        ("isolcpus=domain,managed_irq,1-3", Some("isolcpus=domain,managed_irq,1-3")),
        ("isolcpus=nohz,1 isolcpus=\"2,3\"", Some("isolcpus=\"2,3\"")),
        ("isolcpus=nohz,managed_irq,1-3", None),
        ("nohz_full=1-3 -- isolcpus=1", None),
        ("", None),
    ] {
        let expected: Vec<_> =
            word.map(|word| Obstacle::Isolated(word.into())).into_iter().collect();
        for isolated in [Some("1-3".into()), None] {
            let seen = KernelFiles { command_line: command_line.into(), isolated, ..idle() };
            assert_eq!(judged(&seen).obstacles, expected, "{command_line}");
        }
    }
}

/// The machine has two CPUs, so `isolcpus=5` isolates none of them.
#[test]
fn a_word_that_isolates_nothing_is_no_obstacle() {
    let seen = KernelFiles { command_line: "isolcpus=5".into(), ..idle() };
    assert_eq!(judged(&seen).obstacles, []);
}

#[test]
fn missing_privileges_are_named() {
    let with = |has: &[u32]| {
        let has = has.to_vec();
        idle().judge(|| Kernel::whole().btf(), move |number| has.contains(&number)).obstacles
    };
    assert_eq!(with(&[]), [Obstacle::Privileges(vec!["CAP_BPF", "CAP_PERFMON", "CAP_SYS_NICE"])]);
    let without = with(&[sys::CAP_BPF, sys::CAP_SYS_NICE]);
    assert_eq!(without, [Obstacle::Privileges(vec!["CAP_PERFMON"])]);
    assert_eq!(with(&[sys::CAP_SYS_ADMIN]), [Obstacle::Privileges(vec!["CAP_SYS_NICE"])]);
    assert_eq!(with(&[sys::CAP_SYS_ADMIN, sys::CAP_SYS_NICE]), []);
    assert_eq!(with(&[sys::CAP_BPF, sys::CAP_PERFMON, sys::CAP_SYS_NICE]), []);
}

#[test]
fn there_are_no_timers_under_preempt_rt() {
    let seen = KernelFiles { version: "#1 SMP PREEMPT_RT Debian".into(), ..idle() };
    assert_eq!(judged(&seen), ExtSupport { obstacles: Vec::new(), has_timers: false });
}
