import { type AccessContext, evaluate } from '../../kernel/authz/evaluate.ts';
import { vaultResource } from '../../kernel/authz/pattern.ts';
import type { CompiledPolicy, PolicyDocument } from '../../kernel/authz/policy.ts';
import type { Context } from '../../kernel/request/context.ts';
import { notPermitted } from '../../kernel/request/refusals.ts';
import { policyToSimulate } from '../policies/index.ts';
import { isLive, vaultAttributes, vaultNotFound } from '../vaults/index.ts';
import { findVault, findVaultById, type VaultRow } from '../vaults/storage/index.ts';
import type { Assistant } from './assistant.ts';
import { phrase } from './phrasing.ts';
import type { SuggestedTask } from './schemas.ts';

const TASK =
  'Say in words what this policy allows and denies in the vault, and what somebody should check before it is attached.';

/** The rights that matter in a vault, the most far-reaching first, and whether they are about a secret in it. */
const RIGHTS: readonly [action: string, isAboutSecret: boolean, what: string][] = [
  ['vaults:delete', false, 'delete the vault'],
  ['members:add', false, 'add members to the vault'],
  ['vaults:update', false, 'change the vault'],
  ['secrets:delete', true, 'delete secrets'],
  ['secrets:read', true, 'read values'],
  ['secrets:update', true, 'change values'],
  ['secrets:create', true, 'create secrets'],
  ['secrets:rotate', true, 'rotate secrets'],
  ['secrets:read_metadata', true, 'read metadata'],
  ['secrets:list', true, 'list paths'],
];
/** Stands for any secret, for policies that name none. */
const ANY_PATH = 'any/secret';

export async function validationTasks(
  ctx: Context,
  assistant: Assistant,
  { vault_id, policy }: { vault_id: string; policy: string | PolicyDocument },
) {
  assistant.requireEnabled();
  const vault = await readableVault(ctx, vault_id);
  const compiled = await policyToSimulate(ctx, policy, '/body/policy');
  const subject = typeof policy === 'string' ? { policy } : { document: policy };
  const tasks = tasksFor(ctx, vault, compiled, subject);
  const facts = {
    vault: { name: vault.name, environment: vault.environment },
    policy: compiled.name,
    tasks: tasks.map(({ title, why }) => ({ title, why })),
  };
  const plain =
    tasks.length === 0
      ? `The policy neither allows nor denies anything in the vault ${vault.name}.`
      : `In the vault ${vault.name}: ${tasks.map(({ title }) => title).join('; ')}.`;
  const { text, phrased, redactions } = await phrase(assistant, ctx, { task: TASK, facts, plain });
  return { tasks, summary: text, phrased, redactions };
}

/** As reading the vault itself would be answered. */
async function readableVault(ctx: Context, idOrName: string): Promise<VaultRow> {
  const { read } = ctx.database;
  const row = (await findVaultById(read, ctx.tenantId, idOrName)) ?? (await findVault(read, ctx.tenantId, idOrName));
  const known = isLive(row) ? row : undefined;
  const resource = vaultResource(known?.name ?? idOrName);
  if (!ctx.access.may('vaults:read', resource, vaultAttributes(known)))
    throw notPermitted('vaults:read', 'vaults:read: no_match');
  if (known === undefined) throw vaultNotFound();
  return known;
}

function tasksFor(ctx: Context, vault: VaultRow, policy: CompiledPolicy, subject: object): SuggestedTask[] {
  const tasks: SuggestedTask[] = [];
  for (const [action, isAboutSecret, what] of RIGHTS) {
    const resource = isAboutSecret
      ? `${vaultResource(vault.name)}/${pathFor(vault.name, policy, action)}`
      : vaultResource(vault.name);
    const attributes = vaultAttributes(vault);
    const decide = (context: AccessContext) => evaluate([policy], { action, resource, context });
    const usual = { ...attributes, ip: ctx.call.address, time: ctx.now };
    const [without, withFactor] = [decide({ ...usual, mfa: false }), decide({ ...usual, mfa: true })];
    const simulation = (mfa: boolean) => ({
      method: 'POST' as const,
      path: '/v1/policies/simulate',
      body: { ...subject, action, resource, context: { mfa } },
    });
    const because = ({ matched }: typeof without) =>
      matched
        .map(
          ({ sid, effect }) =>
            `${sid === null ? 'a statement' : `statement ${sid}`} ${effect === 'allow' ? 'allows' : 'denies'} it`,
        )
        .join(', ');
    if (without.decision !== withFactor.decision) {
      const title = `Confirm that only people with a fresh second factor may ${what}`;
      const why = `With one, ${because(withFactor)}; without one, the decision is ${without.decision}.`;
      tasks.push({ title, why, request: simulation(false) });
    } else if (without.reason === 'allowed') {
      tasks.push({
        title: `Confirm that they should ${what}`,
        why: `On ${resource}, ${because(without)}.`,
        request: simulation(false),
      });
    } else if (without.reason === 'explicit_deny') {
      tasks.push({
        title: `Confirm that nobody with it may ${what}`,
        why: `On ${resource}, ${because(without)}.`,
        request: simulation(true),
      });
    }
  }
  return tasks;
}

/** A path that some statement about the action names, so that a policy for a part of the vault is tried there. */
function pathFor(vault: string, policy: CompiledPolicy, action: string): string {
  const { allow, deny } = policy.statementsFor(action);
  const prefix = `vault/${vault}/`;
  for (const { resources } of [...allow, ...deny]) {
    for (const { text } of resources) {
      if (!text.startsWith(prefix)) continue;
      const path = text.slice(prefix.length).replaceAll('**', ANY_PATH).replaceAll('*', 'any');
      if (path !== '') return path;
    }
  }
  return ANY_PATH;
}
