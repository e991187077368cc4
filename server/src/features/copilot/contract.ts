import Type from 'typebox';
import { PolicyDocument } from '../../kernel/authz/policy.ts';
import { ANY_TOKEN, endpoint, NONE, ORDINARY } from '../../kernel/endpoint/declaration.ts';
import { described } from '../../kernel/wire/named-schemas.ts';
import { idOrName, object, objectWithExamples } from '../../kernel/wire/wire.ts';
import { riskFactors, riskScore } from '../secrets/index.ts';
import {
  ChatMessage,
  ChatReply,
  CodeFinding,
  MESSAGES_MAX,
  messageText,
  PROMPT_LENGTH_MAX,
  phrased,
  Redactions,
  SuggestedTask,
} from './schemas.ts';

const common = {
  ...ORDINARY,
  noun: 'copilot',
  aboutNoun: {
    title: 'Assistant',
    group: 'People',
    guide: ['assistant'],
    description:
      'An assistant that explains what the service knows. Secrets, personal data and internal addresses are masked before anything is sent to the model, and it can do nothing by itself.',
  },
  credentials: ANY_TOKEN,
  method: 'POST',
  rate: 'aggregate',
  bulk: true,
  effect: 'read',
  params: NONE,
  query: NONE,
  status: 200,
} as const;

const secretId = Type.Union(
  [
    Type.Integer({ minimum: 1, maximum: 999_999_999_999_999 }),
    Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9_-]+$' }),
  ],
  { description: 'The id of a secret, or its number.' },
);

export const explainRisk = endpoint({
  ...common,
  name: 'explainRisk',
  path: '/copilot/explain-risk',
  summary: 'Explain the risk of a secret',
  description:
    'Score, factors and actions are computed from the data of the tenant. The model only writes `explanation`, from these and the metadata of the secret.',
  permission: 'secrets:read_metadata',
  alsoAsks: ['secrets:read'],
  resource: 'loaded',
  loads: ['vault/{vault}/{path*}', 'secret/{secret_id}'],
  audit: 'copilot:explain_risk',
  body: object({ secret_id: secretId }),
  output: object({
    secret_id: Type.String({ description: 'The id of the secret.' }),
    risk_score: riskScore,
    factors: riskFactors,
    explanation: Type.String({ description: 'The risk in words.' }),
    actions: Type.Array(SuggestedTask, { description: 'What would lower the risk.' }),
    phrased,
    redactions: Redactions,
  }),
  errors: ['VAULT_NOT_FOUND', 'SECRET_NOT_FOUND', 'COPILOT_DISABLED'],
});

export const summarizePath = endpoint({
  ...common,
  name: 'summarizePath',
  path: '/copilot/summarize-path',
  summary: 'Summarize an attack path',
  description: 'Steps and mitigations are computed from the path. The model only writes `summary`.',
  permission: 'attack_paths:read',
  resource: 'loaded',
  loads: ['attack-path/{attack_path_id}'],
  audit: 'copilot:summarize_path',
  body: object({
    attack_path_id: Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^[A-Za-z0-9_-]+$',
      description: 'The id of an attack path.',
    }),
  }),
  output: object({
    summary: Type.String({ description: 'The path in words.' }),
    steps: Type.Array(Type.String(), { description: 'Each link of the path and its weakness.' }),
    mitigations: Type.Array(SuggestedTask, { description: 'What would break the path.' }),
    phrased,
    redactions: Redactions,
  }),
  errors: ['NOT_FOUND', 'COPILOT_DISABLED'],
});

const VALIDATED = {
  vault_id: 'payments',
  policy: {
    version: '2026-01-01',
    statement: [{ sid: 'team', effect: 'allow' as const, action: ['secrets:read'], resource: ['vault/payments/*'] }],
  },
};

export const validationTasks = endpoint({
  ...common,
  name: 'validationTasks',
  path: '/copilot/validation-tasks',
  summary: 'Suggest how to validate a policy for a vault',
  description:
    'Evaluates the policy with the evaluator that decides real requests, and suggests simulations that confirm what it allows and denies in the vault. The model only writes `summary`.',
  permission: 'policies:simulate',
  alsoAsks: ['vaults:read'],
  resource: 'policy',
  audit: 'copilot:validation_tasks',
  body: objectWithExamples([VALIDATED], {
    vault_id: described('A vault, by its id or name.', idOrName),
    policy: Type.Union([described('A policy, by its name.', idOrName), PolicyDocument], {
      description: 'The name of a policy, or a document.',
    }),
  }),
  output: object({
    tasks: Type.Array(SuggestedTask, { description: 'What to check, the most far-reaching rights first.' }),
    summary: Type.String({ description: 'What the policy does in this vault, in words.' }),
    phrased,
    redactions: Redactions,
  }),
  errors: ['VAULT_NOT_FOUND', 'NOT_FOUND', 'COPILOT_DISABLED'],
});

export const chat = endpoint({
  ...common,
  name: 'chat',
  path: '/copilot/chat',
  summary: 'Talk to the assistant',
  description:
    'Send the whole conversation each time: nothing of it is stored. The same value gets the same placeholder in all messages. With `Accept: text/event-stream` the reply arrives in parts: events `delta` with `content`, then `done` with `redactions`, or `error` with `code` and `message`.',
  permission: 'copilot:chat',
  resource: 'copilot',
  audit: 'copilot:chat',
  events: true,
  body: objectWithExamples([{ messages: [{ role: 'user', content: 'How do I rotate a password?' }] }], {
    messages: Type.Array(ChatMessage, {
      minItems: 1,
      maxItems: MESSAGES_MAX,
      description: `The conversation, at most ${PROMPT_LENGTH_MAX} characters in all. The last message is the user’s.`,
    }),
  }),
  output: object({ message: ChatReply, redactions: Redactions }),
  errors: ['COPILOT_DISABLED', 'COPILOT_UNAVAILABLE'],
});

export const generateCode = endpoint({
  ...common,
  name: 'generateCode',
  path: '/copilot/generate-code',
  summary: 'Generate code that uses the service',
  description:
    'Code with a secret as a literal is not returned, also if it is put together from parts or encoded: the response is `HARDCODED_SECRET` with lines and rules. Nothing runs the code.',
  permission: 'copilot:generate_code',
  resource: 'copilot',
  audit: 'copilot:generate_code',
  body: objectWithExamples([{ language: 'python', prompt: 'Read the secret database/main of a vault.' }], {
    language: Type.String({
      minLength: 1,
      maxLength: 32,
      pattern: '^[A-Za-z0-9.#+ -]+$',
      description: 'The programming language, such as python.',
    }),
    prompt: messageText('What the code should do.'),
  }),
  output: object({
    code: Type.String({ description: 'The code.' }),
    findings: Type.Array(CodeFinding, { description: 'What should be looked at before the code is used.' }),
    redactions: Redactions,
  }),
  errors: ['HARDCODED_SECRET', 'COPILOT_DISABLED', 'COPILOT_UNAVAILABLE'],
});
