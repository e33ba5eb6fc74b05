//! What can be looked up: policies, bundled sets, the schema, completions, manual pages.

use crate::args::{Cli, DemosArgs, ManArgs, PoliciesArgs};
use crate::exit::{Exit, Failure, Outcome};
use crate::terminal;
use clap::CommandFactory;
use layland_policy::registry::{self, PolicyInfo};
use serde_json::json;

pub fn policies(args: &PoliciesArgs) -> Outcome {
    let chosen: Vec<&PolicyInfo> = match &args.name {
        None => registry::POLICIES.iter().collect(),
        Some(name) => match registry::parse(name) {
            Ok((info, _)) => vec![info],
            Err(error) => return Err(Failure::usage(error.to_string())),
        },
    };
    if args.json {
        let each: Vec<_> = chosen.iter().map(|info| as_json(info)).collect();
        terminal::result(&format!("{:#}\n", json!({ "policies": each })))?;
    } else if args.cite {
        let mut entries: Vec<_> = chosen.iter().flat_map(|info| info.citations).collect();
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
            .map(|info| format!("{:width$}  {}: {}\n", info.name, info.title, info.summary))
            .collect();
        terminal::result(&lines.concat())?;
    }
    Ok(Exit::Yes)
}

fn as_json(info: &PolicyInfo) -> serde_json::Value {
    let options: Vec<_> = info
        .options
        .iter()
        .map(|option| json!({ "name": option.name, "help": option.help }))
        .collect();
    let citations: Vec<_> = info
        .citations
        .iter()
        .map(|citation| json!({ "key": citation.key, "text": citation.text, "bibtex": citation.bibtex }))
        .collect();
    json!({
        "name": info.name,
        "title": info.title,
        "summary": info.summary,
        "refuses": info.refuses,
        "options": options,
        "citations": citations,
    })
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
    text += "\nReferences\n";
    info.citations.iter().for_each(|citation| text += &line(citation.text));
    text
}

pub fn demos(args: &DemosArgs) -> Outcome {
    let demos = layland_config::demos();
    let Some(name) = &args.name else {
        if args.json {
            let each: Vec<_> = demos
                .iter()
                .map(|demo| json!({ "name": format!("demo:{}", demo.name), "title": demo.title }))
                .collect();
            terminal::result(&format!("{:#}\n", json!({ "demos": each })))?;
            return Ok(Exit::Yes);
        }
        let width = demos.iter().map(|demo| demo.name.len()).max().unwrap_or(0);
        let lines: Vec<String> = demos
            .iter()
            .map(|demo| format!("demo:{:width$}  {}\n", demo.name, demo.title))
            .collect();
        terminal::result(&lines.concat())?;
        return Ok(Exit::Yes);
    };
    let name = name.strip_prefix("demo:").unwrap_or(name);
    let demo = layland_config::demo(name).ok_or_else(|| {
        Failure::usage(format!("there is no bundled task set `{name}`"))
            .help("`layland demos` lists them")
    })?;
    if args.json {
        let demo = json!({ "name": format!("demo:{}", demo.name), "title": demo.title, "text": demo.text });
        terminal::result(&format!("{demo:#}\n"))?;
    } else {
        terminal::result(demo.text)?;
    }
    Ok(Exit::Yes)
}

pub fn schema() -> Outcome {
    terminal::result(&format!("{:#}\n", layland_config::schema()))?;
    Ok(Exit::Yes)
}

pub fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "layland", &mut script);
    terminal::result(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Yes)
}

pub fn man(args: &ManArgs) -> Outcome {
    let failed =
        |error: std::io::Error| Failure::refused(format!("failed to write the manual: {error}"));
    let mut cli = Cli::command();
    cli.build();
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).map_err(failed)?;
        clap_mangen::generate_to(cli, folder).map_err(failed)?;
        return Ok(Exit::Yes);
    }
    let command = match &args.command {
        None => cli,
        Some(name) => cli.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::usage(format!("there is no command `{name}`"))
                .help("`layland --help` lists them; -o FOLDER writes every page")
        })?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
    terminal::result(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Yes)
}
