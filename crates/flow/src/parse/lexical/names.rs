//! [`Names`]: mapping of a language's functions to the Python and JavaScript functions that the analysis knows.

/// Table of known functions, the difference in their arguments, and their equivalents as dotted names. A leading dot
/// means a member of any object; a trailing `.*` all members of a module.
pub(super) type Names = &'static [(&'static str, How, &'static [&'static str])];

/// Argument convention of a function, compared with its equivalent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum How {
    Same,
    /// The given number of leading arguments is dropped.
    Skip(usize),
    /// The first argument becomes the receiver.
    On,
    /// The first argument is a variable that becomes a file. The last argument is the file's path.
    Opens,
    /// The first argument is a variable; the last one is stored in it, under the key between them.
    Sets,
    /// The name is replaced by a constant string.
    Text,
}

use How::{On, Opens, Same, Sets, Skip, Text};

pub(super) const RUBY: Names = &[
    ("http.client.HTTPSConnection", Same, &["Net.HTTP.new", "Net.HTTP.start"]),
    ("requests.post", Same, &["Net.HTTP.post_form"]),
    ("requests.get", Same, &["Net.HTTP.get_response", "Net.HTTP.get_print"]),
    ("str", Same, &["Net.HTTP.Get.new", "Net.HTTP.Post.new", "Net.HTTP.Put.new", "Net.HTTP.Patch.new", "URI"]),
    ("str", Same, &["URI.parse", "Pathname", "Pathname.new", ".host", ".hostname"]),
    ("requests.Session", Same, &["Faraday.new", "HTTPClient.new"]),
    ("socket.create_connection", Same, &["TCPSocket.new", "TCPSocket.open"]),
    ("socket.socket", Same, &["UDPSocket.new"]),
    ("smtplib.SMTP", Same, &["Net.SMTP.start"]),
    ("urlopen", Same, &["URI.open", "OpenURI.open_uri"]),
    ("open_uri", Same, &["open"]),
    ("os.path.join", Same, &["URI.join", "File.join"]),
    ("open", Same, &["File.open", "File.new", "File.read", "File.binread", "File.readlines", "File.foreach"]),
    ("open", Same, &["IO.read", "IO.readlines"]),
    ("writeFile", Same, &["File.write", "File.binwrite", "IO.write"]),
    ("expanduser", Same, &["File.expand_path"]),
    ("~", Text, &["Dir.home"]),
    ("glob", Same, &["Dir.glob"]),
    ("copy", Same, &["FileUtils.cp"]),
    ("move", Same, &["FileUtils.mv"]),
    ("shutil.rmtree", Same, &["FileUtils.rm_rf", "FileUtils.rm_r", "FileUtils.remove_dir"]),
    ("os.system", Same, &["system", "exec", "spawn", "Kernel.system", "Kernel.exec", "Process.spawn"]),
    ("os.popen", Same, &["IO.popen", "Open3.capture2", "Open3.capture2e", "Open3.capture3"]),
    ("run_path", Same, &["load"]),
    ("eval", Same, &["Kernel.eval", ".instance_eval", ".class_eval", ".module_eval"]),
    ("eval", Same, &["RubyVM.InstructionSequence.compile"]),
    ("b64decode", Same, &["Base64.decode64", "Base64.strict_decode64", "Base64.urlsafe_decode64"]),
    ("b85decode", Same, &[".unpack1", ".unpack"]),
    ("decompress", Same, &["Zlib.Inflate.inflate", "Zlib.inflate", "Zlib.gunzip"]),
    ("clipboard.paste", Same, &["Clipboard.paste"]),
    ("get", Same, &[".fetch"]),
    ("write", Same, &[".puts", ".print"]),
    ("requests.*", Same, &["Net.HTTP.*", "Faraday.*", "HTTParty.*", "RestClient.*", "Excon.*", "Typhoeus.*"]),
    ("requests.*", Same, &["HTTPX.*", "HTTP.*"]),
];

pub(super) const GO: Names = &[
    ("requests.Session", Same, &["http.Client", "resty.New"]),
    ("requests", Same, &["http.DefaultClient"]),
    ("str", Skip(1), &["http.NewRequest"]),
    ("str", Skip(2), &["http.NewRequestWithContext"]),
    ("str", Same, &["http.Request", "fmt.Sprintf", "string", "byte"]),
    ("requests.post", Same, &["http.PostForm", "http.Post"]),
    ("requests.get", Same, &["http.Get"]),
    ("requests.head", Same, &["http.Head"]),
    ("request", Same, &[".Do"]),
    ("post", Same, &[".Post"]),
    ("get", Same, &[".Get"]),
    ("socket.create_connection", Skip(1), &["net.Dial", "net.DialTimeout", "tls.Dial"]),
    ("socket.gethostbyname", Same, &["net.LookupHost", "net.LookupIP"]),
    ("dns.resolve", Same, &["net.LookupTXT"]),
    ("sendmail", Same, &["smtp.SendMail"]),
    ("os.getenv", Same, &["os.Getenv", "os.LookupEnv", "os.Environ", "syscall.Environ"]),
    ("~", Text, &["os.UserHomeDir", ".HomeDir"]),
    ("os.path.join", Same, &["filepath.Join", "path.Join"]),
    ("open", Same, &["os.ReadFile", "ioutil.ReadFile", "os.Open", "os.OpenFile", "os.Create"]),
    ("read", On, &["io.ReadAll", "ioutil.ReadAll"]),
    ("writeFile", Same, &["os.WriteFile", "ioutil.WriteFile"]),
    ("write", On, &["io.Copy", "io.WriteString", "fmt.Fprintf", "fmt.Fprint", "fmt.Fprintln"]),
    ("write", Same, &[".Write", ".WriteString"]),
    ("shutil.rmtree", Same, &["os.RemoveAll"]),
    ("rename", Same, &["os.Rename"]),
    ("subprocess.run", Same, &["exec.Command"]),
    ("subprocess.run", Skip(1), &["exec.CommandContext"]),
    ("os.system", Same, &["syscall.Exec", "os.StartProcess"]),
    ("run_path", Same, &["plugin.Open"]),
    ("unhexlify", Same, &["hex.DecodeString"]),
    ("b64decode", Same, &[".DecodeString"]),
    ("decompress", Same, &["gzip.NewReader", "zlib.NewReader"]),
    ("clipboard.paste", Same, &["clipboard.ReadAll"]),
];

pub(super) const PHP: Names = &[
    ("open_uri", Same, &["file_get_contents", "fopen", "readfile", "file"]),
    ("read", On, &["stream_get_contents", "fread", "fgets"]),
    ("writeFile", Same, &["file_put_contents"]),
    ("write", On, &["fwrite", "fputs"]),
    ("str", Same, &["curl_init"]),
    ("", Sets, &["curl_setopt", "curl_setopt_array"]),
    ("requests.request", Same, &["curl_exec"]),
    ("socket.create_connection", Same, &["fsockopen", "stream_socket_client"]),
    ("sendmail", Same, &["mail"]),
    ("socket.gethostbyname", Same, &["gethostbyname"]),
    ("dns.resolve", Same, &["dns_get_record"]),
    ("requests.Session", Same, &["GuzzleHttp.Client", "Client"]),
    ("os.getenv", Same, &["getenv"]),
    ("ENV", Same, &["$_env"]),
    ("request.form", Same, &["$_post"]),
    ("request.args", Same, &["$_get"]),
    ("request.values", Same, &["$_request"]),
    ("request.data", Same, &["$_cookie"]),
    ("eval", Same, &["eval", "assert"]),
    ("eval", Skip(1), &["create_function"]),
    ("run_path", Same, &["include", "include_once", "require", "require_once"]),
    ("os.system", Same, &["system", "exec", "passthru", "pcntl_exec"]),
    ("os.popen", Same, &["shell_exec", "popen", "proc_open"]),
    ("b64decode", Same, &["base64_decode"]),
    ("decompress", Same, &["gzinflate", "gzuncompress", "gzdecode"]),
    ("b85decode", Same, &["str_rot13", "convert_uudecode"]),
    ("unhexlify", Same, &["hex2bin"]),
    ("reversed", Same, &["strrev"]),
    ("unquote", Same, &["urldecode", "rawurldecode"]),
    ("copy", Same, &["copy"]),
    ("rename", Same, &["rename"]),
];

pub(super) const PERL: Names = &[
    ("requests.Session", Same, &["LWP.UserAgent.new", "HTTP.Tiny.new", "Mojo.UserAgent.new", "WWW.Mechanize.new"]),
    ("str", Skip(1), &["HTTP.Request.new"]),
    ("requests.get", Same, &["LWP.Simple.get", "get"]),
    ("urlretrieve", Same, &["getstore", "LWP.Simple.getstore", ".mirror"]),
    ("post", Same, &[".post_form"]),
    ("socket.create_connection", Same, &["IO.Socket.INET.new", "IO.Socket.SSL.new"]),
    ("write", Same, &[".print"]),
    ("ENV", Same, &["$ENV"]),
    ("open", Opens, &["open", "sysopen"]),
    ("os.system", Same, &["system", "exec"]),
    ("run_path", Same, &["do"]),
    ("eval", Same, &["eval"]),
    ("b64decode", Same, &["decode_base64", "MIME.Base64.decode", "MIME.Base64.decode_base64"]),
    ("unhexlify", Skip(1), &["pack"]),
    ("b85decode", Skip(1), &["unpack"]),
    ("decompress", Same, &["uncompress", "memGunzip"]),
    ("copy", Same, &["copy", "File.Copy.copy"]),
    ("rename", Same, &["move"]),
    ("open", Same, &["read_file"]),
    ("writeFile", Same, &["write_file"]),
    ("shutil.rmtree", Same, &["rmtree", "remove_tree"]),
    ("os.path.join", Same, &["catfile", "File.Spec.catfile"]),
    ("~", Text, &["File.HomeDir.my_home"]),
];

pub(super) const POWERSHELL: Names = &[
    ("requests.request", Same, &["invoke-restmethod", "irm", "invoke-webrequest", "iwr", "curl", "wget"]),
    ("urlretrieve", Same, &["start-bitstransfer", ".downloadfile"]),
    ("sendmail", Same, &["send-mailmessage"]),
    ("socket.gethostbyname", Same, &["resolve-dnsname"]),
    ("requests.Session", Same, &["net.webclient.new", "system.net.webclient.new", "net.http.httpclient.new"]),
    ("requests.Session", Same, &["system.net.http.httpclient.new"]),
    ("socket.create_connection", Same, &["net.sockets.tcpclient.new", "system.net.sockets.tcpclient.new"]),
    ("get", Same, &[".downloadstring", ".downloaddata", ".getstringasync", ".getasync"]),
    ("post", Same, &[".postasync", ".uploadstring", ".uploaddata", ".uploadvalues", ".uploadfile"]),
    ("eval", Same, &["invoke-expression", "iex", "scriptblock.create", "reflection.assembly.load"]),
    ("eval", Same, &["system.reflection.assembly.load"]),
    ("os.system", Same, &["start-process", "saps", "invoke-item", "powershell", "powershell.exe", "pwsh", "cmd"]),
    ("open", Same, &["get-content", "gc", "cat", "type", "import-clixml", "file.readalltext", "io.file.readalltext"]),
    ("open", Same, &["io.file.readallbytes", "system.io.file.readalltext", "system.io.file.readallbytes"]),
    ("writeFile", Same, &["set-content", "add-content", "out-file", "tee-object", "io.file.writealltext"]),
    ("writeFile", Same, &["io.file.writeallbytes", "system.io.file.writealltext", "system.io.file.writeallbytes"]),
    ("copy", Same, &["copy-item", "cp"]),
    ("rename", Same, &["move-item"]),
    ("shutil.rmtree", Same, &["remove-item"]),
    ("os.path.join", Same, &["join-path", "path.combine", "io.path.combine", "system.io.path.combine"]),
    ("b64decode", Same, &["convert.frombase64string", "system.convert.frombase64string"]),
    ("str", Same, &[".getstring"]),
    ("decompress", Same, &["io.compression.gzipstream.new", "system.io.compression.gzipstream.new"]),
    ("os.getenv", Same, &["environment.getenvironmentvariable", "system.environment.getenvironmentvariable"]),
    ("os.getenv", Same, &["environment.getenvironmentvariables", "system.environment.getenvironmentvariables"]),
    ("ENV", Same, &["env:"]),
    ("~", Text, &["$home", "$env:userprofile", "$env:home"]),
    ("$PROFILE", Text, &["$profile"]),
    ("clipboard.paste", Same, &["get-clipboard"]),
];

pub(super) const LUA: Names = &[
    ("http.request", Same, &["http.request"]),
    ("request", Same, &[".request_uri"]),
    ("os.getenv", Same, &["os.getenv"]),
    ("open", Same, &["io.open", "io.lines"]),
    ("os.popen", Same, &["io.popen"]),
    ("os.system", Same, &["os.execute"]),
    ("eval", Same, &["load", "loadstring"]),
    ("run_path", Same, &["dofile", "loadfile"]),
    ("socket.socket", Same, &["socket.tcp"]),
    ("socket.create_connection", Same, &["socket.connect"]),
    ("b64decode", Same, &["mime.unb64", "base64.decode", "ngx.decode_base64"]),
    ("rename", Same, &["os.rename"]),
];

/// Returns the equivalent of a name.
pub(super) fn known(names: Names, name: &str, in_any_case: bool) -> Option<(String, How)> {
    let is = |from: &str| if in_any_case { from.eq_ignore_ascii_case(name) } else { from == name };
    names.iter().find_map(|(to, how, all)| {
        if all.iter().any(|from| is(from)) {
            return Some(((*to).to_owned(), *how));
        }
        let module = to.strip_suffix('*')?;
        let member = |from: &&str| name.strip_prefix(from.strip_suffix('*')?).filter(|rest| !rest.contains('.'));
        all.iter().find_map(member).map(|rest| (format!("{module}{}", rest.to_ascii_lowercase()), *how))
    })
}

/// Translates the key of a record to its known equivalent.
pub(super) fn key(key: &str) -> String {
    match key.trim_start_matches("CURLOPT_").to_ascii_lowercase().as_str() {
        "header" | "httpheader" | "default_headers" => "headers".to_owned(),
        "userpwd" | "basic_auth" | "credential" | "token" => "auth".to_owned(),
        "post" | "get" | "put" | "patch" | "url" | "uri" => "url".to_owned(),
        "host" | "hostname" | "peeraddr" => "host".to_owned(),
        _ => key.to_owned(),
    }
}
