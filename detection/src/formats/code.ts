import { format, mixed, random, withDigits } from './format.ts';

/** Where code is stored, built, checked and published. */
export const CODE = [
  format('github-token', 'gh[pousr]_', '[A-Za-z0-9]{36,255}'),
  format('github-token', 'github_pat_', '[A-Za-z0-9_]{36,255}'),
  format('gitlab-token', 'gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct|wt)-', '[A-Za-z0-9_.=-]{20,300}', {
    check: random(3),
  }),
  format('gitlab-runner-token', 'GR1348941', '[A-Za-z0-9_-]{20}'),
  format('gitlab-session-cookie', '_gitlab_session=', '[a-z0-9]{32}', { kind: 'token' }),
  format('bitbucket-token', 'ATBB', '[A-Za-z0-9]{28,40}'),
  format('bitbucket-token', 'BBDC-', '[A-Za-z0-9+/@_-]{40,50}'),
  format('atlassian-token', 'AT(?:ATT|CTT)3', '[A-Za-z0-9_=-]{60,300}'),
  format('npm-token', 'npm_', '[A-Za-z0-9]{36}'),
  format('pypi-token', 'pypi-AgE', '[A-Za-z0-9_-]{50,1000}'),
  format('rubygems-key', 'rubygems_', '[a-f0-9]{48}'),
  format('crates-token', 'cio', '[A-Za-z0-9]{32}', { check: mixed }),
  format('nuget-key', 'oy2', '[a-z0-9]{43}'),
  format('clojars-token', 'CLOJARS_', '[a-z0-9]{60}', { isCaseless: true }),
  format('docker-token', 'dckr_(?:pat|oat)_', '[A-Za-z0-9_-]{27,64}'),
  format('artifactory-key', 'AKC', '[a-zA-Z0-9]{69,73}', { check: withDigits }),
  format('artifactory-reference-token', 'cmVmdGtu', '[A-Za-z0-9]{56}'),
  format('circleci-token', 'CCIP(?:AT|RJ)_', '[A-Za-z0-9]{22}_[a-f0-9]{40}'),
  format('buildkite-token', 'bk(?:ua|at|ct)_', '[a-f0-9]{40}'),
  format('sonar-token', 'sq[upa]_', '[a-f0-9]{40}'),
  format('sourcegraph-token', 'sgp_', '(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}'),
  format('sourcegraph-token', 'slk_', '[a-f0-9]{64}'),
  format('travis-token', 'travis-', '[A-Za-z0-9_-]{22}', { check: mixed }),
  format('snyk-token', 'snyk_(?:uat|sat)\\.', '[a-f0-9]{8}\\.[A-Za-z0-9_.-]{60,200}'),
  format('gitguardian-token', '(?:gg_pat_|ggtt-v-)', '[A-Za-z0-9_-]{10,80}', { check: random(3) }),
  format('postman-key', 'PMAK-', '[a-f0-9]{24}-[a-f0-9]{34}'),
  format('readme-token', 'rdme_', '[a-z0-9]{70}'),
  format('api-university-secret', 's-s4t2(?:ud|af)-', '[a-f0-9]{64}', { isCaseless: true }),
  format('azure-devops-token', 'AZDO', '[A-Za-z0-9]{4}', { before: 76, check: mixed }),
  format('expo-token', 'expo_', '[A-Za-z0-9_-]{40}', { check: mixed }),
  format('ngrok-key', '(?:ak|cr)_', '[A-Za-z0-9]{24,30}', { check: mixed }),
  format('deno-token', 'dd[pow]_', '[A-Za-z0-9]{36}'),
  format('jwt', 'ey[JIK]', '[A-Za-z0-9_-]{8,4096}\\.ey[A-Za-z0-9_-]{6,16384}\\.[A-Za-z0-9_-]{8,8192}={0,2}', {
    kind: 'token',
    check: isToken,
  }),
  // Encrypted, with five parts; what stands between the first two is empty for a key that both sides have.
  format(
    'jwt',
    'eyJ',
    '[A-Za-z0-9_-]{8,4096}\\.[A-Za-z0-9_-]{0,2048}\\.[A-Za-z0-9_-]{8,256}\\.[A-Za-z0-9_-]{8,8192}\\.[A-Za-z0-9_-]{8,256}',
    {
      kind: 'token',
    },
  ),
  format('jwt-in-base64', 'ZXlK', '[A-Za-z0-9+/_-]{60,8192}={0,2}', { kind: 'token', check: isTokenInBase64 }),
];

/** The header of a JWT names its algorithm. The sample that documentation copies from jwt.io is about John Doe. */
function isToken(text: string): boolean {
  const [header = '', payload = ''] = text.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
  return /"(?:alg|typ)"/.test(header) && !payload.includes('John Doe');
}

function isTokenInBase64(text: string): boolean {
  const token = Buffer.from(text, 'base64').toString('latin1');
  return /^eyJ[A-Za-z0-9_-]{8,4096}\.ey[A-Za-z0-9_-]{6,16384}/.test(token);
}
