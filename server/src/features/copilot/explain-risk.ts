import { literalResource } from '../../kernel/authz/pattern.ts';
import type { Context } from '../../kernel/request/context.ts';
import { readRisk } from '../risk/index.ts';
import { type RiskFactor, secretNotFound, secretResource } from '../secrets/index.ts';
import { type SecretReader, secretById } from '../secrets/reading/index.ts';
import type { Assistant } from './assistant.ts';
import type { CopilotParts } from './links.ts';
import { phrase } from './phrasing.ts';
import type { SuggestedTask } from './schemas.ts';

const TASK = 'Explain to an administrator why this secret has its risk score, and which factor to work on first.';
const ROTATION_DAYS = 90;

export interface RiskParts {
  readonly assistant: Assistant;
  readonly reader: SecretReader;
  readonly anomalyPoints: CopilotParts['anomalyPoints'];
}

export async function explainRisk(ctx: Context, parts: RiskParts, secretId: string | number) {
  const at = await locatedSecret(ctx, parts.assistant, secretId);
  const { metadata } = await parts.reader.authorized(ctx, at);
  const {
    id,
    risk_score,
    risk_factors: factors,
    vault,
    path,
  } = await readRisk(ctx, parts.reader, parts.anomalyPoints, at);
  const actions = actionsFor(vault, path, factors);
  const facts = {
    secret: { vault, path, metadata: JSON.parse(metadata) as unknown },
    risk_score,
    factors,
    actions: actions.map(({ title, why }) => ({ title, why })),
  };
  const plain = plainExplanation(`${vault}/${path}`, risk_score, factors);
  const { text, phrased, redactions } = await phrase(parts.assistant, ctx, { task: TASK, facts, plain });
  return { secret_id: id, risk_score, factors, explanation: text, actions, phrased, redactions };
}

/** An id that no secret has is refused like one of a secret that the caller may not read about. */
async function locatedSecret(
  ctx: Context,
  assistant: Assistant,
  secretId: string | number,
): Promise<{ vault: string; path: string }> {
  const found = await secretById(ctx.database.read, ctx.tenantId, String(secretId));
  const resource =
    found === undefined ? literalResource('secret', String(secretId)) : secretResource(found.vault, found.path);
  ctx.access.authorize(resource, found);
  assistant.requireEnabled();
  if (found === undefined || found.isDeleted) throw secretNotFound();
  return found;
}

function plainExplanation(name: string, score: number, factors: readonly RiskFactor[]): string {
  if (factors.length === 0) return `The risk of ${name} is ${score} of 100: nothing makes it risky.`;
  const reasons = factors.toSorted((a, b) => b.points - a.points).map(({ why, points }) => `${why} (${points} points)`);
  return `The risk of ${name} is ${score} of 100. ${reasons.join(' ')}`;
}

/** What lowers each factor. That a secret is one of production cannot be helped. */
function actionsFor(vault: string, path: string, factors: readonly RiskFactor[]): SuggestedTask[] {
  const secret = `/v1/vaults/${vault}/secrets/${path}`;
  const rotate = (why: string): SuggestedTask => ({
    title: 'Rotate the secret',
    why,
    request: { method: 'POST', path: `${secret}/rotate`, body: { reason: 'Lower its risk' } },
  });
  const byFactor: Partial<Record<RiskFactor['factor'], (why: string) => SuggestedTask>> = {
    age: rotate,
    weak_value: rotate,
    no_rotation: (why) => ({
      title: 'Rotate it automatically',
      why,
      request: { method: 'PUT', path: secret, body: { rotation: { interval_days: ROTATION_DAYS } } },
    }),
    readers: (why) => ({
      title: 'Check who may read it',
      why,
      request: { method: 'GET', path: `/v1/vaults/${vault}/members` },
    }),
    stale_readers: (why) => ({
      title: 'Remove members who do not use it, then review the rest',
      why,
      request: { method: 'POST', path: `/v1/vaults/${vault}/members/review` },
    }),
    repeated_value: (why) => ({
      title: 'Find the secrets with the same value, and give each its own',
      why,
      request: { method: 'GET', path: '/vaults/collisions' },
    }),
    ends_soon: rotate,
    open_anomalies: (why) => ({
      title: 'Look into the open anomalies',
      why,
      request: { method: 'GET', path: '/anomalies' },
    }),
  };
  const tasks = factors
    .toSorted((a, b) => b.points - a.points)
    .map(({ factor, why }) => byFactor[factor]?.(why) ?? null)
    .filter((task) => task !== null);
  // Several factors may ask for the same; the strongest one gives the reason.
  return tasks.filter((task, at) => tasks.findIndex(({ title }) => title === task.title) === at);
}
