//! Word lists of [`super`]: network access, transfer of data, and secrets.

/// Substrings of commands that send or install something.
pub(super) const HANDS_OVER: &[&str] = &[
    " -d ", " -d@", " -F ", " -T ", "--data", "--form", "--upload", "POST", "post(", "put(", "| sh", "| bash", "|sh",
    "|bash", "| sudo", "install", "--index-url", "--registry", "mcp add", "mcp-remote", "| python", "| node", "iex",
    "<(",
];

/// Substrings that name a secret near an address.
pub(super) const SECRETS: &[&str] = &[
    "TOKEN", "SECRET", "PASSW", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL", "environ",
    "process.env", "printenv", ".ssh/", "id_rsa", ".aws/", ".env", ".netrc",
];

/// Substrings of script lines that access the network.
pub(super) const REACHES: &[&str] = &[
    "curl", "wget", "fetch(", "requests.", "urlopen", "urllib", "httpx", "aiohttp", "axios", "http.", "https.", "got(",
    "Net::HTTP", "openConnection", "WebClient", "HttpClient", "XMLHTTP", "XMLHttpRequest", "Invoke-RestMethod",
    "Invoke-WebRequest", "irm ", "iwr ", "LWP", "HTTP::Tiny", "ureq", "reqwest", "sendBeacon", "WebSocket",
    "websockets", "stream_context", "file_get_contents(", "curl_init", "$ua->", "socket", "Socket", "Download",
    "URI.open", "Faraday", "HTTParty", "RestClient", "OkHttp", "Guzzle", "Http::", "session.", "client.", ".post(",
    ".put(", "EventSource", "URLSession", "HTTPoison", "Bits", "certutil", "bitsadmin", "git clone", "git push",
    "remote add", "mcp-remote", "ssh ", "scp ", "rsync ", "nc ",
];
