import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoadingName } from './loading-names.ts';

test('names that run code, or change where programs connect, are told from others', () => {
  const loading = [
    ...['LD_PRELOAD', 'LD_LIBRARY_PATH', 'DYLD_INSERT_LIBRARIES', 'PATH', 'ENV', 'BASH_ENV', 'IFS', 'SHELLOPTS'],
    ...['PROMPT_COMMAND', 'PS1', 'PS4', 'ZDOTDIR', 'NODE_OPTIONS', 'NODE_PATH', 'NPM_CONFIG_SCRIPT_SHELL'],
    ...['PYTHONPATH', 'PYTHONHOME', 'PYTHONSTARTUP', 'PERL5LIB', 'PERL5OPT', 'RUBYLIB', 'RUBYOPT', 'JAVA_TOOL_OPTIONS'],
    ...['JDK_JAVA_OPTIONS', 'MAVEN_OPTS', 'GRADLE_OPTS', 'GIT_SSH_COMMAND', 'SSH_ASKPASS', 'SUDO_ASKPASS', 'PAGER'],
    ...[
      'HTTP_PROXY',
      'HTTPS_PROXY',
      'https_proxy',
      'ALL_PROXY',
      'SSL_CERT_FILE',
      'REQUESTS_CA_BUNDLE',
      'prompt_command',
    ],
    ...[
      'TAR_OPTIONS',
      'MAKEFILES',
      'GNUMAKEFLAGS',
      'CC',
      'CFLAGS',
      'ZIPOPT',
      'RSYNC_RSH',
      'SVN_SSH',
      'VIMINIT',
      'LESS',
    ],
    ...['AWS_PAGER', 'PSQL_PAGER', 'KUBE_EDITOR', 'GH_BROWSER', 'PIP_INDEX_URL', 'PYTEST_ADDOPTS', 'UV_INDEX_URL'],
    ...['BUNDLE_GEMFILE', 'RUSTFLAGS', 'CARGO_BUILD_RUSTC', 'GOTOOLCHAIN', 'CGO_CFLAGS', 'MAVEN_ARGS', 'ES_JAVA_OPTS'],
    ...['XDG_CONFIG_HOME', 'OPENSSL_MODULES', 'SSH_SK_PROVIDER', 'ANSIBLE_VAULT_PASSWORD_FILE', 'TF_CLI_ARGS_plan'],
    ...['AWS_SHARED_CREDENTIALS_FILE', 'DOCKER_HOST', 'SSLKEYLOGFILE', 'WGETRC', 'HOSTALIASES', 'Path', 'PATHEXT'],
    // A command line that is started by another one would send secrets elsewhere.
    ...['COFFER_URL', 'COFFER_TOKEN', 'COFFER_CA_FILE'],
  ];
  for (const name of loading) assert.equal(isLoadingName(name), true, name);
  const others = [
    'LDAP_PASSWORD',
    'DB_PASSWORD',
    'PATHS',
    'DATABASE_PATH',
    'API_ENV',
    'HTTPS_PROXY_TOKEN',
    'LOG_LEVEL',
    'PS5',
    ...[
      'CARGO_REGISTRY_TOKEN',
      'CARGO_REGISTRIES_OWN_TOKEN',
      'UV_PUBLISH_TOKEN',
      'UV_INDEX_OWN_PASSWORD',
      'TF_VAR_KEY',
    ],
    ...['DOCKER_PASSWORD', 'AWS_SECRET_ACCESS_KEY', 'AZURE_CLIENT_SECRET', 'ANSIBLE_VAULT_PASSWORD', 'GOOGLE_API_KEY'],
    ...[
      'YARN_NPM_AUTH_TOKEN',
      'BUNDLE_GITHUB__COM',
      'COMPOSER_AUTH',
      'PAGERDUTY_TOKEN',
      'PGPASSWORD',
      'CC_TOKEN',
      'DOT_NET',
    ],
  ];
  for (const name of others) assert.equal(isLoadingName(name), false, name);
});
