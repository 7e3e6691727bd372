//! Binding of arguments to parameters, for [`Analysis`].

use std::rc::Rc;

use super::{
    super::{
        names,
        program::{Call, Expr},
    },
    Analysis, Called, tellers,
    value::Value,
};

impl Analysis<'_> {
    /// Returns the secret that a wrapper function prints, if it is named like a program and passes on its arguments.
    /// They are known at the call, but not inside the wrapper.
    pub(super) fn told_by_wrapper(&self, name: &str, args: &[Value]) -> Option<Value> {
        let is_own = self.functions.contains_key(name) && args.iter().any(|arg| arg.text.is_some());
        let line = || [&[Value::of_text(name)], args].concat();
        is_own.then(|| tellers::told(&line())).flatten()
    }

    /// Returns the arguments that a call passes to the program it starts. Functions are omitted, as is the environment
    /// among the options: the program receives it but does not run it.
    pub(super) fn given_to_program(&mut self, args: &[Expr], values: &[Value]) -> Vec<Value> {
        let mut given = Vec::new();
        for (arg, value) in args.iter().zip(values) {
            match arg {
                Expr::Inside(..) => {}
                Expr::Record(pairs) => {
                    let mut options = Value::default();
                    for (key, part) in pairs.iter().filter(|(key, _)| key != "env") {
                        let part = self.eval(part);
                        options.put(key, &part);
                    }
                    given.push(options);
                }
                _ => given.push(value.clone()),
            }
        }
        given
    }

    /// Returns the origins of what a call was given. A function of the skill that returns the answer of a request keeps
    /// none of them.
    pub(super) fn given_back(&self, function: &str, called: &Called<'_>) -> Value {
        let known = self.returned(function);
        if known.is_some_and(|known| known.name.as_deref().is_some_and(names::is_answer)) {
            return Value::default();
        }
        let given = Value::any_of(called.args).or(called.receiver);
        called.named.iter().fold(given, |all, (_, arg)| all.or(arg))
    }

    /// Evaluates an argument of a call. An unknown text is represented by the name of its variable, so that different
    /// variables stay distinct.
    pub(super) fn argument(&mut self, arg: &Expr) -> Value {
        let mut value = self.eval(arg);
        if let (None, Expr::Name(variable)) = (&value.text, arg) {
            value.text = Some(format!("\0{variable}\0"));
        }
        value
    }

    /// Binds the elements of a list to the function that is called for each of them.
    pub(super) fn bind_each(&mut self, name: &str, call: &Call, receiver: &Value) {
        let last = name.rsplit('.').next().unwrap_or(name);
        if let ("map" | "forEach" | "filter" | "flatMap" | "some" | "every" | "then", [Expr::Name(function)]) =
            (last, call.args.as_slice())
        {
            self.bind_params(function, std::slice::from_ref(receiver));
        }
    }

    /// Binds arguments to the parameters of all functions with a name.
    pub(super) fn bind_params(&mut self, name: &str, args: &[Value]) {
        let last = name.rsplit('.').next().unwrap_or(name);
        let Some(functions) = self.functions.get(last).map(Rc::clone) else { return };
        let programs = self.programs;
        for (at, scope) in functions.iter() {
            let function = programs.get(*at).and_then(|program| program.scopes.get(*scope));
            let params = function.map_or(&[][..], |function| &function.params);
            for (param, arg) in params.iter().zip(args) {
                for param in param.split(',') {
                    self.set(*at, *scope, param, arg);
                }
            }
        }
    }
}
