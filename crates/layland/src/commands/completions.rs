//! `layland completions`: prints the completion script of a shell.
//!
//! clap generates the scripts, which complete commands and options. This module adds the names of
//! policies, bundled sets and experiments. They occur in lists separated by commas and contain
//! colons, which each shell treats in a way of its own.

use crate::ui::exit::{Exit, Outcome};
use crate::ui::terminal;
use clap_complete::Shell;
use layland_policy::Registry;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland completions bash > ~/.local/share/bash-completion/completions/layland
  layland completions zsh > ~/.zfunc/_layland
  layland completions fish > ~/.config/fish/completions/layland.fish";

/// Prints the completions of a command line.
pub(crate) fn run(registry: &Registry, mut cli: clap::Command, shell: Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli, "layland", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let names = Names::of(registry, &cli);
    terminal::data(&match shell {
        Shell::Bash => script + &names.bash(),
        Shell::Zsh => names.zsh(&script),
        Shell::Fish => script + &names.fish(),
        _ => script,
    })?;
    Ok(Exit::Yes)
}

/// The names to complete, separated by blanks, and the commands that accept them.
struct Names {
    policies: String,
    /// The names of the bundled sets, each with the prefix `demo:`.
    sets: String,
    demos: String,
    experiments: String,
    /// The commands that take a task set, and those that take policies.
    with_set: Vec<String>,
    with_policy: Vec<String>,
}

impl Names {
    fn of(registry: &Registry, cli: &clap::Command) -> Names {
        let with = |id: &str| -> Vec<String> {
            let has =
                |command: &&clap::Command| command.get_arguments().any(|arg| arg.get_id() == id);
            let commands = cli.get_subcommands().filter(has);
            commands.map(|command| command.get_name().to_owned()).collect()
        };
        let joined = |names: Vec<&str>| names.join(" ");
        let demos: Vec<&str> = layland_config::demos().iter().map(|demo| demo.name).collect();
        let sets: Vec<String> = demos.iter().map(|name| format!("demo:{name}")).collect();
        #[cfg(feature = "lab")]
        let experiments = layland_lab::packaged::ALL.iter().map(|packaged| packaged.name).collect();
        #[cfg(not(feature = "lab"))]
        let experiments = Vec::new();
        Names {
            policies: joined(registry.iter().map(|info| info.name.as_ref()).collect()),
            sets: sets.join(" "),
            demos: joined(demos),
            experiments: joined(experiments),
            with_set: with("set"),
            with_policy: with("policy"),
        }
    }

    /// Bash splits words at colons and equals signs, and replaces only what follows the last of
    /// them.
    fn bash(&self) -> String {
        let Names { policies, sets, demos, experiments, with_set, .. } = self;
        let with_set = with_set.join("|");
        format!(
            r#"
# Names of policies (also in lists), bundled sets and experiments; everything else is left to _layland.
_layland_named() {{
    local line="${{COMP_LINE:0:COMP_POINT}}" word previous command="" list="" names="" broken before
    word="${{line##*[[:space:]]}}"
    read -r -a before <<< "${{line%"$word"}}"
    previous="${{before[${{#before[@]}}-1]}}"
    for broken in "${{before[@]:1}}"; do
        # The value of the one option that may stand before the command.
        [[ "$broken" != -* && "$names" != --color ]] && command="${{command:+$command }}$broken"
        names="$broken"
    done
    names=""
    if [[ "$word" == --policy=* ]]; then previous=--policy; word="${{word#--policy=}}"; fi
    COMPREPLY=()
    if [[ "$previous" == -p || "$previous" == --policy ]]; then
        [[ "$word" == *,* ]] && list="${{word%,*}},"
        names="{policies}"
    else
        case "$command" in
            policies) names="{policies}" ;;
            explain) names="{policies} {demos} {experiments}" ;;
            demos) names="{demos}" ;;
            "lab run"|"lab show") names="{experiments}" ;;
        esac
        case "${{command%% *}}" in
            {with_set}) [[ "$word" == d* ]] && names="$names {sets}" ;;
        esac
    fi
    [[ -n "$names" && "$word" != -* ]] && COMPREPLY=($(compgen -P "$list" -W "$names" -- "${{word##*,}}"))
    if [[ ${{#COMPREPLY[@]}} -eq 0 ]]; then _layland "$@"; return; fi
    # Files have their place beside names.
    [[ -z "$list" && "$previous" != -p && "$previous" != --policy ]] && COMPREPLY+=($(compgen -f -- "$word"))
    if [[ "$word" == *[:=]* ]]; then
        broken="${{word%"${{word##*[:=]}}"}}"
        COMPREPLY=("${{COMPREPLY[@]#"$broken"}}")
    fi
}}
complete -F _layland_named -o bashdefault -o default layland
"#
        )
    }

    /// In zsh each argument names the function that completes it.
    fn zsh(&self, script: &str) -> String {
        let Names { policies, sets, demos, experiments, .. } = self;
        let functions = format!(
            "_layland_policies() {{ compset -P '*,'; compadd -qS , -- {policies} }}\n\
             _layland_sets() {{ compadd -- {sets}; _files }}\n\
             _layland_demos() {{ compadd -- {demos} }}\n\
             _layland_experiments() {{ compadd -- {experiments}; _files }}\n\
             _layland_explained() {{ compadd -- {policies} {demos} {experiments} }}\n\n"
        );
        let complete = |line: &str| {
            let by = |function: &str| line.replacen(":_default'", &format!(":{function}'"), 1);
            let is = |start: &str| {
                line.trim_start().trim_start_matches([':', '\'', '*']).starts_with(start)
            };
            if line.contains(":P,..:_default'") || line.contains(":P:_default'") {
                by("_layland_policies")
            } else if is("set -- ") || is("more -- ") {
                by("_layland_sets")
            } else if is("name -- Explain this policy") {
                by("_layland_policies")
            } else if is("name -- Print the file of this set") {
                by("_layland_demos")
            } else if is("experiment -- ") || is("name -- Its name") {
                by("_layland_experiments")
            } else if is("code -- ") {
                by("_layland_explained")
            } else {
                line.to_owned()
            }
        };
        let lines: Vec<String> = script.lines().map(complete).collect();
        lines.join("\n").replacen("\n_layland() {", &format!("\n{functions}_layland() {{"), 1)
            + "\n"
    }

    fn fish(&self) -> String {
        let Names { policies, sets, demos, experiments, .. } = self;
        let mut text = String::new();
        let mut add = |command: &str, what: &str| {
            let condition = format!("__fish_layland_using_subcommand {command}");
            text += &format!("complete -c layland -n \"{condition}\" {what}\n");
        };
        for command in &self.with_policy {
            add(command, &format!("-s p -l policy -x -a \"(__fish_append , {policies})\""));
        }
        for command in &self.with_set {
            add(command, &format!("-a \"{sets}\""));
        }
        add("policies", &format!("-f -a \"{policies}\""));
        add("demos", &format!("-f -a \"{demos}\""));
        add("explain", &format!("-a \"{policies} {demos} {experiments}\""));
        for command in ["run", "show"] {
            let in_lab = format!("lab; and __fish_seen_subcommand_from {command}");
            add(&in_lab, &format!("-a \"{experiments}\""));
        }
        text
    }
}
