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
  ];
  for (const name of others) assert.equal(isLoadingName(name), false, name);
});
