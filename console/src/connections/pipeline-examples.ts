import type { Example } from '../ui/example.ts';

export interface PipelineFacts {
  readonly url: string;
  readonly audience: string;
  readonly clientId: string;
  readonly vault: string;
  readonly path: string;
}

type Provider = 'github' | 'gitlab' | 'bitbucket' | 'jenkins' | 'teamcity' | 'custom';

/** A job that reads a secret with the identity that its CI system gives it. */
export function pipelineExamples(provider: Provider, facts: PipelineFacts): Example[] {
  if (provider === 'github') return [{ title: 'GitHub Actions', code: githubJob(facts) }];
  if (provider === 'gitlab') return [{ title: 'GitLab CI', code: gitlabJob(facts) }];
  return [{ title: 'Shell', code: `${variables(facts)}\n${exchange(facts, 'ID_TOKEN')}\n` }];
}

function variables({ url, clientId }: PipelineFacts): string {
  return `# ID_TOKEN: the identity token of the job, from the CI system
COFFER=${url}
COFFER_CONNECTION=${clientId}
`;
}

/** Exchanges the token of the job for a certificate and a token of the connection, and reads with them. */
function exchange({ vault, path }: PipelineFacts, variable: string): string {
  return `set -euo pipefail
umask 077
issued=$(mktemp -d)
trap 'rm -rf "$issued"' EXIT
printf 'Authorization: Bearer %s' "$${variable}" |
  curl -sS --fail-with-body -X POST -H @- \\
    "$COFFER/app-connections/$COFFER_CONNECTION/federated-token" > "$issued/answer.json"
jq -er .certificate "$issued/answer.json" > "$issued/client.crt"
jq -er .private_key "$issued/answer.json" > "$issued/client.key"
VALUE=$(jq -er '"Authorization: Bearer " + .access_token' "$issued/answer.json" |
  curl -sS --fail-with-body -H @- --cert "$issued/client.crt" --key "$issued/client.key" \\
    "$COFFER/v1/vaults/${vault}/secrets/${path}" | jq -er .value)`;
}

function indented(text: string, by: number): string {
  return text.replace(/^(?=.)/gm, ' '.repeat(by));
}

function githubJob(facts: PipelineFacts): string {
  const { url, audience, clientId } = facts;
  return `name: deploy
on:
  push:
    branches: [main]
permissions:
  id-token: write
  contents: read
jobs:
  deploy:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - name: Deploy with a secret from Coffer
        env:
          COFFER: ${url}
          COFFER_AUDIENCE: ${audience}
          COFFER_CONNECTION: ${clientId}
        run: |
          id_token=$(printf 'Authorization: Bearer %s' "$ACTIONS_ID_TOKEN_REQUEST_TOKEN" |
            curl -sS --fail-with-body -H @- "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=$COFFER_AUDIENCE" | jq -er .value)
${indented(exchange(facts, 'id_token'), 10)}
          echo "::add-mask::$VALUE"
          export VALUE
          ./deploy.sh
`;
}

function gitlabJob(facts: PipelineFacts): string {
  const { url, audience, clientId } = facts;
  return `deploy:
  image: alpine:3
  rules:
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  id_tokens:
    COFFER_ID_TOKEN:
      aud: ${audience}
  variables:
    COFFER: ${url}
    COFFER_CONNECTION: ${clientId}
  before_script:
    - apk add --no-cache curl jq
  script:
    - |
${indented(exchange(facts, 'COFFER_ID_TOKEN'), 6)}
      export VALUE
      ./deploy.sh
`;
}
