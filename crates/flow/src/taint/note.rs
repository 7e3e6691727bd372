//! Selection of the [`Flow`]s among all values that reach a call, for [`Analysis`].

use super::{
    super::{
        names::{self, Sink},
        paths,
    },
    Analysis, Called, End, Flow,
    value::{Taint, Value},
};

impl Analysis<'_> {
    /// Marks the current program as analysed only in part.
    pub(super) fn note_cut(&mut self) {
        self.cut.insert(self.program);
    }

    /// Sets the function or program of the current call, which the flows found in it name.
    pub(super) fn set_callee(&mut self, name: &str) {
        self.callee.clear();
        self.callee.push_str(name);
    }

    /// Records the values that reach a sink.
    pub(super) fn note_sink(&mut self, sink: Sink, called: &Called<'_>) {
        let Called { name, receiver, args, named, line } = *called;
        self.set_callee(name.rsplit('.').next().unwrap_or(name));
        let first = args.get(..1).unwrap_or_default();
        match sink {
            Sink::Send => {
                let mut sent = Value::any_of(args).or(receiver);
                for (key, value) in named {
                    sent.put(key, value);
                }
                if names::sends_files(name.rsplit('.').next().unwrap_or(name)) {
                    sent.read();
                }
                let to = [args.first(), receiver.text.as_ref().map(|_| receiver)].into_iter().flatten();
                let to = to.chain(args).chain(named.iter().map(|(_, value)| value));
                let address =
                    to.filter_map(|value| value.text.clone()).find(|text| text.contains("://") || text.contains('.'));
                self.note(line, End::Sent, &sent, address.unwrap_or_default());
            }
            Sink::Run => {
                let takes_all = ["_location", "FileLoader", "Function"].iter().any(|end| name.ends_with(end));
                let given = if takes_all { args } else { first };
                let mut code = Value::any_of(given);
                for path in given.iter().filter_map(|arg| arg.text.as_ref()) {
                    code = code.or(self.files().get(path).unwrap_or(&Value::default()));
                }
                self.note(line, End::Run, &code, String::new());
            }
            Sink::Command => {
                let all = named.iter().fold(Value::any_of(args), |mut all, (_, value)| {
                    all.add(value);
                    all
                });
                self.command(&all, args, line);
            }
            Sink::Remove => {
                for path in first.iter().chain([receiver]).filter_map(|value| value.text.clone()) {
                    self.note_path(line, End::Removed, &path);
                }
            }
        }
    }

    /// Records a write to a file that steers agents or runs at startup, or a removal of the whole home folder.
    pub(super) fn note_path(&mut self, line: usize, end: End, path: &str) {
        let matters = match end {
            End::Steered => paths::steers(path).is_some(),
            End::Removed => paths::is_all_of_home(path),
            End::Sent | End::Run => false,
        };
        if matters {
            let (program, to, call) = (self.program, path.to_owned(), self.callee.clone());
            let flow = Flow { program, line, end, taints: Vec::new(), keys: Vec::new(), to, call };
            self.flows.entry((self.program, line, end)).or_insert((self.step, flow));
        }
    }

    /// Records a value that is sent or run, if one of its origins matters for that sink.
    pub(super) fn note(&mut self, line: usize, end: End, value: &Value, to: String) {
        if value.cut {
            self.note_cut();
        }
        let wanted = |taint: &&Taint| if end == End::Sent { taint.kind.can_be_sent() } else { taint.kind.can_be_run() };
        let taints: Vec<Taint> = value.taints.iter().filter(wanted).cloned().collect();
        let keys: Vec<Taint> = value.keys.iter().filter(wanted).cloned().collect();
        if taints.is_empty() && keys.is_empty() {
            return;
        }
        let flow = Flow { program: self.program, line, end, taints, keys, to, call: self.callee.clone() };
        let known = self.flows.entry((self.program, line, end)).or_insert_with(|| (self.step, flow.clone()));
        if known.0 <= self.step {
            *known = (self.step, flow);
        }
    }
}
