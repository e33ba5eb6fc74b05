//! `layland policies`: lists the policies of the registry.

use crate::ui::exit::{Exit, Outcome};
use crate::ui::terminal;
use clap::Args;
use layland_answers::Policies;
use layland_policy::{PolicyInfo, Registry};

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland policies
  layland policies p-edf
      its behaviour, the sets that it refuses, its options, and the papers to cite
  layland policies p-edf --cite
      the references as BibTeX";

#[derive(Args)]
pub(crate) struct PoliciesArgs {
    /// Explain this policy
    pub name: Option<String>,
    /// Print the references as BibTeX
    #[arg(long)]
    pub cite: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn run(registry: &Registry, args: &PoliciesArgs) -> Outcome {
    let chosen: Vec<&PolicyInfo> = match &args.name {
        None => registry.iter().collect(),
        Some(name) => match registry.parse(name) {
            Ok((info, _)) => vec![info],
            Err(error) => return Err(layland_answers::unknown_policy(&error).into()),
        },
    };
    if args.json {
        terminal::data(&Policies::of(chosen).json())?;
    } else if args.cite {
        let mut entries: Vec<_> = chosen.iter().flat_map(|info| &info.citations).collect();
        entries.sort_by_key(|citation| citation.key);
        entries.dedup_by_key(|citation| citation.key);
        let texts: Vec<&str> = entries.iter().map(|citation| citation.bibtex).collect();
        terminal::result(&format!("{}\n", texts.join("\n\n")))?;
    } else if args.name.is_some() {
        for info in chosen {
            terminal::result(&explain(info))?;
        }
    } else {
        let width = chosen.iter().map(|info| info.name.len()).max().unwrap_or(0);
        let lines: Vec<String> = chosen
            .iter()
            .map(|info| {
                let text = format!("{}: {}", info.title, info.summary);
                terminal::entry(&format!("{:width$}  ", info.name), &text)
            })
            .collect();
        terminal::result(&lines.concat())?;
    }
    Ok(Exit::Yes)
}

fn explain(info: &PolicyInfo) -> String {
    let line = |text: &str| format!("{}\n", terminal::wrap(text, "  "));
    let mut text =
        format!("{}: {}\n", info.name, info.title) + &line(&format!("{}.", info.summary));
    text += "\nRefuses\n";
    info.refuses.iter().for_each(|what| text += &line(what));
    if !info.options.is_empty() {
        text += "\nOptions\n";
        info.options
            .iter()
            .for_each(|option| text += &line(&format!("{}=..  {}", option.name, option.help)));
    }
    if !info.ties.is_empty() {
        text += "\nTies\n";
        text += &line(&format!("{}.", info.ties));
    }
    text += "\nReferences\n";
    info.citations.iter().for_each(|citation| text += &line(citation.text));
    text
}
