/**
 * Names of variables by which a program finds code, settings or helpers to run, or another place to connect to. Whoever may write a secret must not
 * thereby run code where it is read, so a secret becomes one of them only if whoever reads it has asked for this name. The service and the command
 * line, which share no code, both have this file.
 */
const LOADING = new RegExp(
  `^(${[
    'LD_.*|DYLD_.*|GCONV_PATH|GLIBC_TUNABLES|PATH|HOME|SHELL|IFS|ENV|BASH_.*|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|ZDOTDIR|INPUTRC|TMPDIR',
    'NODE_.*|NPM_CONFIG_.*|PYTHON.*|PERL.*|RUBY(OPT|LIB)|GEM_.*|LUA_.*|PHPRC|PHP_INI_SCAN_DIR|CLASSPATH|.*JAVA_OPTIONS|JAVA_TOOL_OPTIONS',
    '(ANT|CATALINA|GRADLE|JAVA|MAVEN|SBT)_OPTS|DOTNET_STARTUP_HOOKS|CORECLR_PROFILER.*|ERL_[AZ]?FLAGS|ELIXIR_ERL_OPTIONS|GOFLAGS|RUSTC(_WORKSPACE)?_WRAPPER',
    'GIT_.*|SSH_AUTH_SOCK|.*_ASKPASS|EDITOR|VISUAL|PAGER|LESS(OPEN|CLOSE)|MANPAGER|BROWSER|MAKEFLAGS|OPENSSL_CONF|KUBECONFIG|DOCKER_CONFIG|AWS_CONFIG_FILE',
    '(HTTPS?|ALL|FTP)_PROXY|GOPROXY|SSL_CERT_(FILE|DIR)|(CURL|REQUESTS)_CA_BUNDLE|CURL_HOME',
  ].join('|')})$`,
  'i',
);

export function isLoadingName(name: string): boolean {
  return LOADING.test(name);
}
