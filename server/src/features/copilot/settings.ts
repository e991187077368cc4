import { resolve } from 'node:path';
import { SECOND_MS } from '../../kernel/base/clock.ts';
import type { ValuesOf } from '../../settings/setting.ts';
import { settingGroup } from '../../settings/setting-group.ts';
import { type Kind, text, whole } from '../../settings/setting-kind.ts';

export const COPILOT_PROVIDERS = ['openai', 'azure-openai', 'bedrock', 'ollama'] as const;
export type CopilotProvider = (typeof COPILOT_PROVIDERS)[number];

/** Where the assistant sends its prompts. */
export interface CopilotConfig {
  readonly provider: CopilotProvider;
  /** Without a slash at its end. */
  readonly url: string;
  readonly model: string;
  /** The API key, or with `bedrock` the secret access key. It is read again for each request, so that it can be replaced. */
  readonly keyFile: string | null;
  readonly aws: {
    readonly region: string;
    readonly accessKeyId: string;
    readonly sessionTokenFile: string | null;
  } | null;
  readonly requestsPerDay: number;
  readonly timeoutMs: number;
}

const provider: Kind<CopilotProvider> = {
  expects: `one of ${COPILOT_PROVIDERS.join(', ')}`,
  parse: (written) => COPILOT_PROVIDERS.find((known) => known === written),
};
const serviceUrl: Kind<string> = {
  expects: 'an http:// or https:// URL without user, query or fragment, such as https://api.openai.com',
  parse: (written) => {
    if (!/^https?:\/\/[a-z0-9.:[\]-]+(?:\/[A-Za-z0-9._~-]+)*\/?$/.test(written) || !URL.canParse(written))
      return undefined;
    const { origin, pathname } = new URL(written);
    return `${origin}${pathname}`.replace(/\/$/, '');
  },
};
const model: Kind<string> = {
  expects: 'the name of a model, at most 256 characters of letters, digits and ._:/@-',
  parse: (written) => (/^[A-Za-z0-9._:/@-]{1,256}$/.test(written) ? written : undefined),
};
const awsRegion: Kind<string> = {
  expects: 'an AWS region, such as eu-central-1',
  parse: (written) => (/^[a-z]{2}(?:-[a-z]{2,12}){1,3}-\d{1,2}$/.test(written) ? written : undefined),
};
const accessKeyId: Kind<string> = {
  expects: 'an AWS access key id of 16 to 128 capital letters and digits',
  parse: (written) => (/^[A-Z0-9]{16,128}$/.test(written) ? written : undefined),
};
const SETTINGS = [
  {
    name: 'CV_COPILOT_PROVIDER',
    kind: provider,
    default: null,
    fallback: 'none: the assistant is disabled',
    doc: 'Provider of the assistant: `openai` (and servers with the same API), `azure-openai`, `bedrock` or `ollama`.',
    secret: false,
  },
  {
    name: 'CV_COPILOT_URL',
    kind: serviceUrl,
    default: null,
    fallback:
      '`https://api.openai.com`, `http://127.0.0.1:11434` (`ollama`), or that of the AWS region; required for `azure-openai`',
    doc: 'URL of the provider. A path replaces the usual `/v1` of `openai` or `/openai/v1` of `azure-openai`. A private address must be in `CV_OUTBOUND_ALLOW`. Only with `CV_COPILOT_PROVIDER`.',
    secret: false,
  },
  {
    name: 'CV_COPILOT_MODEL',
    kind: model,
    default: null,
    doc: 'Model that answers: with `azure-openai` the name of the deployment, with `bedrock` the model id or inference profile. Required with `CV_COPILOT_PROVIDER`.',
    secret: false,
  },
  {
    name: 'CV_COPILOT_API_KEY_FILE',
    kind: text,
    default: null,
    doc: 'File with the API key, read again for each request; with `bedrock` the secret access key. Required, except with `ollama`.',
    secret: false,
  },
  {
    name: 'CV_COPILOT_AWS_REGION',
    kind: awsRegion,
    default: null,
    doc: 'AWS region of `bedrock`. Only with that provider, which requires it.',
    secret: false,
  },
  {
    name: 'CV_COPILOT_AWS_ACCESS_KEY_ID',
    kind: accessKeyId,
    default: null,
    doc: 'AWS access key id for `bedrock`, whose secret access key is in `CV_COPILOT_API_KEY_FILE`. Only with that provider, which requires it.',
    secret: false,
  },
  {
    name: 'CV_COPILOT_AWS_SESSION_TOKEN_FILE',
    kind: text,
    default: null,
    doc: 'File with the session token of temporary AWS credentials, read again for each request. Only with `bedrock`.',
    secret: false,
  },
  {
    name: 'CV_COPILOT_REQUESTS_PER_DAY',
    kind: whole(1, 1_000_000),
    default: '1000',
    doc: 'Requests that one tenant may send to the assistant on a day, in UTC.',
    secret: false,
  },
  {
    name: 'CV_COPILOT_TIMEOUT_SECONDS',
    kind: whole(1, 600),
    default: '60',
    doc: 'Seconds after which a request to the provider is given up.',
    secret: false,
  },
] as const;

type CopilotValues = ValuesOf<typeof SETTINGS>;
type Name = keyof CopilotValues;

const AWS_NAMES = [
  'CV_COPILOT_AWS_REGION',
  'CV_COPILOT_AWS_ACCESS_KEY_ID',
  'CV_COPILOT_AWS_SESSION_TOKEN_FILE',
] as const satisfies readonly Name[];

function conflicts(given: ReadonlySet<string>, { CV_COPILOT_PROVIDER: chosen }: Partial<CopilotValues>): string[] {
  if (!given.has('CV_COPILOT_PROVIDER')) {
    const idle = SETTINGS.map(({ name }) => name).filter((name) => given.has(name));
    return idle.map((name) => `${name} has no effect here: remove it, or set CV_COPILOT_PROVIDER.`);
  }
  if (chosen === undefined) return [];
  const needed: Name[] = ['CV_COPILOT_MODEL'];
  if (chosen !== 'ollama') needed.push('CV_COPILOT_API_KEY_FILE');
  if (chosen === 'azure-openai') needed.push('CV_COPILOT_URL');
  if (chosen === 'bedrock') needed.push('CV_COPILOT_AWS_REGION', 'CV_COPILOT_AWS_ACCESS_KEY_ID');
  const missing = needed.filter((name) => !given.has(name));
  const problems = missing.map((name) => `${name} must be set too, or remove CV_COPILOT_PROVIDER.`);
  const idle = chosen === 'bedrock' ? [] : AWS_NAMES.filter((name) => given.has(name));
  problems.push(...idle.map((name) => `${name} has no effect here: remove it, or set CV_COPILOT_PROVIDER=bedrock.`));
  return problems;
}

function build(values: CopilotValues): CopilotConfig | null {
  const { CV_COPILOT_PROVIDER: chosen, CV_COPILOT_MODEL: named } = values;
  if (chosen === null || named === null) return null;
  const file = (path: string | null) => (path === null ? null : resolve(path));
  const { CV_COPILOT_AWS_REGION: region, CV_COPILOT_AWS_ACCESS_KEY_ID: keyId } = values;
  const aws =
    region === null || keyId === null
      ? null
      : Object.freeze({ region, accessKeyId: keyId, sessionTokenFile: file(values.CV_COPILOT_AWS_SESSION_TOKEN_FILE) });
  const usual: Record<CopilotProvider, string> = {
    openai: 'https://api.openai.com',
    'azure-openai': '',
    bedrock: `https://bedrock-runtime.${region}.amazonaws.com`,
    ollama: 'http://127.0.0.1:11434',
  };
  return Object.freeze({
    provider: chosen,
    url: values.CV_COPILOT_URL ?? usual[chosen],
    model: named,
    keyFile: file(values.CV_COPILOT_API_KEY_FILE),
    aws,
    requestsPerDay: values.CV_COPILOT_REQUESTS_PER_DAY,
    timeoutMs: values.CV_COPILOT_TIMEOUT_SECONDS * SECOND_MS,
  });
}

export const copilotSettings = settingGroup({ settings: SETTINGS, conflicts, build });
