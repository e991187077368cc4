import type { Context } from '../../kernel/request/context.ts';
import { type AttackPath, readPath } from '../attack-paths/index.ts';
import type { Assistant } from './assistant.ts';
import { phrase } from './phrasing.ts';
import type { SuggestedTask } from './schemas.ts';

const TASK =
  'Summarize for an administrator how an attacker could get to the secret along this path, and which link is the weakest.';

type Step = AttackPath['steps'][number];

export async function summarizePath(ctx: Context, assistant: Assistant, pathId: string) {
  ctx.access.authorize(`attack-path/${pathId}`);
  assistant.requireEnabled();
  const path = await readPath(ctx, pathId);
  const steps = path.steps.map(stepText);
  const mitigations = mitigationsOf(path);
  const facts = {
    score: path.score,
    weakness: path.weakness,
    steps: path.steps,
    mitigations: mitigations.map(({ title, why }) => ({ title, why })),
  };
  const plain = `The path has a score of ${path.score} of 100. ${steps.join(' ')}`;
  const { text, phrased, redactions } = await phrase(assistant, ctx, { task: TASK, facts, plain });
  return { summary: text, steps, mitigations, phrased, redactions };
}

function stepText({ kind, type, name, weakness, why }: Step): string {
  const reason = why === '' ? '' : `: ${why}`;
  return weakness === null
    ? `The ${kind} is the ${type} ${name}${reason}.`
    : `The ${kind} is the ${type} ${name}, with a weakness of ${weakness} of 100${reason}.`;
}

const HOW: Readonly<Record<string, (step: Step, path: AttackPath) => SuggestedTask['request'] & { title: string }>> = {
  password: ({ name }, path) => ({
    title: `Require a second factor of ${principalOf(path)?.name ?? name}`,
    method: 'GET',
    path: `/v1/users/${principalOf(path)?.id ?? ''}`,
  }),
  token: ({ id, name }) => ({
    title: `Replace the token ${name} by one with a scope and an end`,
    method: 'DELETE',
    path: `/auth/tokens/${id}`,
  }),
  client_secret: (_, path) => ({
    title: 'Require a client certificate or a DPoP proof of the connection',
    method: 'GET',
    path: `/v1/app-connections/${grantOf(path)?.id ?? ''}`,
  }),
  certificate: (_, path) => ({
    title: 'Require a DPoP proof besides the certificate',
    method: 'GET',
    path: `/v1/app-connections/${grantOf(path)?.id ?? ''}`,
  }),
  federation: (_, path) => ({
    title: 'Narrow the subjects that may exchange their token',
    method: 'GET',
    path: `/app-connections/${grantOf(path)?.id ?? ''}/federations`,
  }),
  workload_method: () => ({
    title: 'Narrow the workloads that may log in',
    method: 'GET',
    path: '/workload-identity/methods',
  }),
  membership: (_, path) => ({
    title: 'Check whether the membership is still needed',
    method: 'GET',
    path: `/v1/vaults/${vaultOf(path)}/members`,
  }),
  group: ({ id, name }) => ({
    title: `Check who is in the group ${name}`,
    method: 'GET',
    path: `/v1/groups/${id}/members`,
  }),
  policy: ({ name }) => ({ title: `Narrow the policy ${name}`, method: 'GET', path: `/v1/policies/${name}` }),
  role: (_, path) => ({
    title: 'Give a smaller role, with grants for what is needed',
    method: 'GET',
    path: `/v1/users/${principalOf(path)?.id ?? ''}`,
  }),
};

const principalOf = ({ steps }: AttackPath) => steps.find(({ kind }) => kind === 'principal');
const grantOf = ({ steps }: AttackPath) => steps.find(({ kind }) => kind === 'grant');
const secretOf = ({ steps }: AttackPath) => steps.find(({ kind }) => kind === 'secret');
const vaultOf = (path: AttackPath) => secretOf(path)?.name.split('/', 1)[0] ?? '';

/** The weakest link first; rotating the secret ends what was stolen along the path already. */
function mitigationsOf(path: AttackPath): SuggestedTask[] {
  const links = path.steps
    .filter(({ weakness }) => weakness !== null)
    .toSorted((a, b) => (b.weakness ?? 0) - (a.weakness ?? 0))
    .flatMap((step) => {
      const how = Object.hasOwn(HOW, step.type) ? HOW[step.type]?.(step, path) : undefined;
      if (how === undefined) return [];
      const { title, ...request } = how;
      return [{ title, why: step.why, request }];
    });
  const [vault = '', ...rest] = secretOf(path)?.name.split('/') ?? [];
  return [
    ...links,
    {
      title: 'Rotate the secret',
      why: 'Whoever has read its value already cannot use it any more.',
      request: {
        method: 'POST',
        path: `/v1/vaults/${vault}/secrets/${rest.join('/')}/rotate`,
        body: { reason: 'Attack path' },
      },
    },
  ];
}
