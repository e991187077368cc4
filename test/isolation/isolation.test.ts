import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import type { TSchema } from 'typebox';
import { type CredentialKind, type EndpointDeclaration, NONE } from '../../server/src/kernel/endpoint/declaration.ts';
import { DECLARATIONS } from '../../server/src/tools/declarations.ts';
import { type Input, type MakeInput, nameOf, pathOf } from '../support/endpoint-inputs.ts';
import {
  granter,
  identifiersOf,
  makersOf,
  type Neighbours,
  type Side,
  send,
  senderOf,
  startNeighbours,
} from '../support/isolation.ts';
import {
  MACHINE_CALLERS,
  type MachineCallerKind,
  type MachineCallers,
  makeMachineCallers,
} from '../support/machine-callers.ts';
import { addColleague, type Colleague, ok } from '../support/people.ts';
import { queriesDuring } from '../support/queries.ts';
import { type Answer, type DatabaseKind, onSqliteAtLanding, type Service } from '../support/service.ts';
import {
  type Identifiers,
  neverWas,
  type Reference,
  referencesIn,
  replaced,
  stateOf,
} from '../support/tenant-state.ts';

/**
 * Every endpoint is tried with what belongs to another tenant, or lies in a vault one has no grant on, beside the same with what never
 * was. The two must be told the same, after the same queries to the database, and change nothing. A new endpoint is tried without a
 * line here; a new field must be named by an input of its endpoint, or be said here to name nothing.
 */

/** Fields of queries and bodies that name nothing that somebody has; with the endpoint's name, only there. Cursors have their own test. */
const PLAIN = new Set(
  [
    [
      'limit',
      'cursor',
      'status',
      'tags',
      'type',
      'version',
      'format',
      'resolve',
      'permit',
      'from',
      'to',
      'decision',
      'query',
      'match',
      'deleted',
    ],
    [
      'description',
      'role',
      'plan',
      'rate_limits',
      'require_mfa',
      'break_glass',
      'invite',
      'environment',
      'encryption',
      'audit',
      'is_zero_knowledge',
      'change_control',
    ],
    ['value', 'reason', 'metadata', 'protection', 'promote', 'generator', 'rotation', 'expected_version', 'to_version'],
    [
      'password',
      'current_password',
      'new_password',
      'revoke_tokens',
      'keep_tokens',
      'ends_with_sessions',
      'otp',
      'step_up',
      'ttl_days',
      'ip_allowlist',
      'scope.actions',
    ],
    // What an authenticator answered is looked up by what it signed; what people call it finds nothing.
    ['enrolPasskey.response', 'stepUp.response', 'enrolPasskey.name', 'renamePasskey.name'],
    [
      'document',
      'action',
      'context',
      'key_name',
      'dry_run',
      'keep_going',
      'leave_out',
      'on_existing',
      'dotenv',
      'look_ups',
    ],
    // How a machine proves who it is, and what it may do where it may do anything.
    [
      'dpop_jkt',
      'allowed_paths',
      'scopes',
      'mtls_required',
      'require_dpop',
      'external_ca_pem',
      'denied_thumbprints',
      'csr_pem',
    ],
    ['concurrent_session_limit', 'concurrent_session_action', 'concurrent_session_ttl_seconds'],
    ['client_secret', 'certificate', 'overlap_seconds', 'certificate_ttl_days', 'updateConnection.name'],
    // What is encrypted, with a key that the path names; an envelope of another's has its own test.
    ['plaintext', 'aad', 'envelope', 'items', 'delete_protection'],
    // What is sealed for a vault that the path names.
    ['putPassphraseCheck.check', 'putPassphraseCheck.former'],
    // What is wrapped, signed or verified, and with what anybody may have made.
    ['algorithm', 'wrapKey.key', 'public_key', 'wrapped', 'message', 'digest', 'signature'],
    ['exportAudit.from_seq', 'replayExporter.skip'],
    // What people are called, not what they are found by; and what is put before paths.
    ['createConnection.name', 'createWorkloadMethod.name', 'updateWorkloadMethod.name', 'createFederation.name'],
    ['createToken.name', 'createUser.name', 'updateUser.name', 'createTenant.owner_email', 'importSecrets.prefix'],
    // A new name, which is tried where things are made; and one that cannot be given.
    ['updateEnvironment.name', 'updateVault.name'],
    // Whom a connection lets in from outside, and what it is called.
    [
      'config',
      'provider',
      'issuer',
      'jwks_url',
      'audience',
      'subject_pattern',
      'claims',
      'token_ttl_seconds',
      'enabled',
    ],
    ['updateFederation.name', 'updateWorkloadMethod.name'],
    // Of each of several changes, what the same field of an endpoint for one is; and which of the changes of an approval is revealed.
    [
      'changeSecrets.changes.op',
      'changeSecrets.changes.expected_version',
      'changeSecrets.changes.value',
      'changeSecrets.changes.type',
      'changeSecrets.changes.generator',
      'changeSecrets.changes.metadata',
      'changeSecrets.changes.environment',
      'changeSecrets.changes.protection',
      'changeSecrets.changes.promote',
      'changeSecrets.changes.rotation',
      'changeSecrets.changes.expires_at',
      'changeSecrets.changes.to_path',
      'changeSecrets.changes.to_version',
      'changeSecrets.changes.reason',
      'revealApproval.path',
    ],
    // A text that decides or that is looked for, and finds nothing by itself.
    ['simulatePolicy.resource', 'whoCan.resource', 'explainAccess.resource'],
    ['listAudit.resource', 'readAuditActivity.resource', 'readAuditActivity.span', 'readAuditActivity.entries'],
    ['listEndpointAccounts.host', 'listEndpointAccounts.username', 'key_type'],
    // Where the log or an event is sent, and which of the tenant's own entries and events are.
    ['endpoint', 'credentials', 'ca_pem', 'filter', 'createExporter.name', 'updateExporter.name'],
    ['url', 'events', 'min_severity', 'routing_key'],
    // What is looked for among the tenant's own anomalies; baselines of another's secret, and a tenant, have tests of their own.
    ['severity', 'since', 'note', 'anomaly_thresholds', 'readAnomalyBaselines.resource', 'listAnomalies.tenant'],
    // What things are called in a cluster, what it reports of itself, and what hosts report, each in the cluster of the token.
    ['createCluster.name', 'kind', 'namespace', 'secret_name', 'secret_type', 'mappings.key', 'generation', 'results'],
    ['host_id', 'hostname', 'scanned_at', 'flags', 'accounts'],
    // What a provider outside calls itself and its groups; groups here are looked up in the own tenant, which has its own test.
    [
      'createSsoProvider.name',
      'createSsoProvider.client_id',
      'updateSsoProvider.client_id',
      'groups_claim',
      'required',
    ],
    ['role_mapping', 'role_mapping{}', 'group_mapping', 'group_mapping{}', 'default_role'],
    // What a provider sent for a sign-in that this browser began; and one's own address. Both have their own tests.
    [
      'confirmSsoLink.code',
      'confirmSsoLink.state',
      'confirmSsoLink.iss',
      'confirmSsoLink.redirect_uri',
      'confirmSsoLink.flow_key',
      'changePassword.email',
    ],
    // How somebody is called, and whether only their own requests are listed.
    ['updateMe.name', 'listApprovals.requester'],
    // The role that somebody gets in a vault.
    ['vaults.role'],
    // The code of a command line, which belongs to no tenant yet.
    ['approveDeviceLogin.user_code', 'approveDeviceLogin.approve'],
    // The id of a request; that it finds nothing in another tenant has its own test.
    ['listAudit.request_id'],
    // The region that the operator sends the request to.
    ['assignTenantRegion.region', 'promoteTenantRegion.region'],
    // Limits of a plan, which belongs to the installation; and when mail is sent.
    ['quotas', 'requests_per_minute', 'mail_notices'],
    // A document instead of a policy's name, and what is said to the assistant, which finds nothing by itself.
    ['policy.version', 'policy.statement', 'messages', 'language', 'prompt'],
    // Resources of a decision; whether one exists is never checked.
    ['readCapabilities.checks.action', 'readCapabilities.checks.resource', 'readCapabilities.checks.environment'],
    // Values that are compared with what the caller may list, which has its own tests.
    ['findKnownValues.values', 'findKnownValues.digests'],
    // The member of a value that is returned, once the value is found.
    ['property'],
    // Whether ways end at vaults or secrets.
    ['depth'],
    // How far ahead is looked.
    ['listDueSecrets.within_days'],
    // What a provider says about its own people and groups; that it finds and adds no others has its own tests.
    ['schemas', 'userName', 'externalId', 'active', 'displayName', 'emails', 'members'],
    ['createScimUser.name', 'replaceScimUser.name', 'Operations.op', 'Operations.path', 'Operations.value'],
    ['attributes', 'excludedAttributes', 'startIndex', 'count', 'subject_claim'],
    // Below which path of a vault access is requested, and for how long.
    ['requestAccess.path', 'ttl_seconds'],
    // When a value ends.
    ['expires_at', 'expires_before'],
    // What was sealed under a key that only the link has, and for how long it is stored.
    ['createShare.envelope', 'expires_in_seconds', 'views'],
    // Bytes; that a nonce is good in one tenant alone has its own test.
    ['verifyAttestation.nonce', 'verifyAttestation.expected'],
  ].flat(),
);

/**
 * Fields in which another's name is as good as any: a new thing may be called what another's is called, and who looks in their own list
 * for what is not there finds nothing. These may pass; all others are refused.
 */
const FREE = new Set([
  'listTokens query.user_id',
  'createToken body.scope.vaults',
  'createUser body.email',
  'createGroup body.name',
  'createPolicy body.name',
  'createVault body.name',
  'createEncryptionKey body.name',
  'createTenant body.name',
  'createEnvironment body.name',
  'createFederation body.name',
  'createSsoProvider body.client_id',
  'updateSsoProvider body.client_id',
  'createWorkloadMethod body.name',
  'createSecret body.path',
  'importSecrets body.secrets{}',
  'moveSecret body.to_path',
  'copySecret body.to_path',
  'listSecrets query.prefix',
  'findSecrets query.path',
  'aggregateSecrets query.prefix',
  'searchSecrets body.prefix',
  'exportSecrets query.prefix',
  'listAudit query.vault',
  'createClusterPolicy body.prefix',
  'listAudit query.actor',
  'requestAccess body.vault',
  'listAccess query.vault',
  'readAuditActivity query.vault',
  'listAccessPaths query.vault',
  'listAccessPaths query.path',
  'listAccessPaths query.user',
  'listAccessPaths query.app_connection',
  'listAccessPaths query.group',
  'listAccessPaths query.policy',
  'readAuditActivity query.actor',
]);

/** Other spellings, as they are sent in a path. */
const LOOK_ALIKES: Record<string, (text: string) => string> = {
  'in capitals': (text) => text.toUpperCase(),
  'in small letters': (text) => text.toLowerCase(),
  'with a capital': (text) => text.slice(0, 1).toUpperCase() + text.slice(1),
  'encoded without need': (text) => `%${text.charCodeAt(0).toString(16)}${text.slice(1)}`,
  'with a dot after it': (text) => `${text}.`,
  'with a space after it': (text) => `${text}%20`,
  'with a NUL after it': (text) => `${text}%00`,
  'with a letter of another alphabet': (text) => `${encodeURIComponent('а')}${text.slice(1)}`,
  'with a pattern': (text) => `${text.slice(0, -1)}*`,
  'with an underscore for a hyphen': (text) => text.replaceAll('-', '_'),
};

const WALKED = DECLARATIONS.filter(({ credentials }) => credentials !== 'public');
const PEOPLE: readonly CredentialKind[] = ['pat', 'session'];
const isForPeople = ({ credentials }: EndpointDeclaration) => PEOPLE.some((kind) => credentials.includes(kind));
const isForMachines = ({ credentials }: EndpointDeclaration) =>
  credentials !== 'public' && credentials.some((kind) => !PEOPLE.includes(kind));
/** As which credential each machine is known. */
const CREDENTIALS_OF: Record<MachineCallerKind, readonly CredentialKind[]> = {
  headers: ['connection'],
  certificate: ['certificate'],
  dpop: ['connection'],
  federation: ['federation'],
  workload: ['workload'],
  cluster: ['cluster'],
  scim: ['scim'],
};
const acceptsAny = ({ credentials }: EndpointDeclaration, kinds: readonly CredentialKind[]) =>
  kinds.some((kind) => credentials.includes(kind));
const isFree = ({ name }: EndpointDeclaration, field: string) => FREE.has(`${name} ${field}`);

/** The fields of an endpoint's query and body that name something, such as `body.principal.user`. */
function namingFields({ name, query, body }: EndpointDeclaration): string[] {
  const found: string[] = [];
  const walk = (schema: TSchema, part: string, field: string) => {
    if (field !== '' && (PLAIN.has(field) || PLAIN.has(`${name}.${field}`))) return;
    const { properties, patternProperties, items, anyOf } = schema as Partial<Record<string, object>>;
    const alternatives = (anyOf ?? []) as TSchema[];
    for (const one of alternatives) walk(one, part, field);
    if (items !== undefined) walk(items as TSchema, part, field);
    if (patternProperties !== undefined) found.push(`${part}.${field}{}`);
    for (const [key, inner] of Object.entries(properties ?? {})) {
      walk(inner as TSchema, part, field === '' ? key : `${field}.${key}`);
    }
    const isLeaf = [properties, patternProperties, items, anyOf].every((inner) => inner === undefined);
    if (isLeaf && (schema as { type?: string }).type !== 'null') found.push(`${part}.${field}`);
  };
  if (query !== NONE) walk(query, 'query', '');
  if (body !== NONE) walk(body, 'body', '');
  return [...new Set(found)];
}

interface Told {
  status: number;
  headers: Record<string, string>;
  text: string;
}

const INCIDENTAL = ['date', 'x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'connection', 'keep-alive'];

/** An answer without what differs between any two, and without what was sent. Of a success only its form. */
function toldBy({ status, headers, text, body }: Answer, sent: Iterable<string>): Told {
  const compared = Object.fromEntries([...headers].filter(([name]) => !INCIDENTAL.includes(name)));
  if (status < 400) return { status, headers: {}, text: JSON.stringify(formOf(body)) };
  let plain = text.replaceAll(headers.get('x-request-id') ?? '', '<request>');
  let n = 0;
  for (const value of sent) plain = plain.replaceAll(value, `<${n++}>`);
  return { status, headers: compared, text: plain };
}

function formOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(formOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, formOf(inner)]));
}

/** The caller of what is not theirs. */
interface Intruder {
  title: string;
  send(declaration: EndpointDeclaration, input: Input): Promise<Answer>;
  /** Of the same tenant: what they may do they do there. */
  isInside: boolean;
  /** The statuses by which they are refused. */
  refusals(declaration: EndpointDeclaration): number[];
  /** What they hold themselves, in which a single thing of another's can be put. Null: they hold no such thing. */
  own(make: MakeInput): Promise<{ input: Input; references: Reference[] } | null>;
  /** Kinds of another's things that they may know of. */
  knows: readonly string[];
  /** Other spellings are tried by one of each kind. */
  triesSpellings: boolean;
}

/** An input made on one side, with all in it that names something of that side. */
interface Target {
  input: Input;
  references: Reference[];
  known: Identifiers;
}

/** The loops of the service look for work that is due meanwhile, more often than a slow machine answers a request. */
const DUE_WORK = /where .*"(?:lease_until|retry_at|next_run_at)" [<>]/;
/** What jobs query beside a request is heard too, now and then. A difference that is always there is the request’s own. */
const QUERY_TRIES = 10;

const named = new Set<string>();
let count = 0;

/** Each part has tenants of its own: what they have is read again and again, and grows with every endpoint. */
const PARTS = 5;

for (let part = 0; part < PARTS; part++) {
  const walked = WALKED.filter((_, i) => i % PARTS === part);
  onSqliteAtLanding(`isolation, part ${part + 1}`, (database) => walkAll(database, walked));
}

test('how many were tried', (context: TestContext) => {
  const fields = `${named.size} fields of ${WALKED.length} endpoints`;
  context.diagnostic(`${fields}, ${count} pairs of what exists and what never was`);
  assert.ok(count > 6000);
});

function walkAll(database: DatabaseKind, walked: readonly EndpointDeclaration[]): void {
  let neighbours: Neighbours;
  let service: Service;
  let machineCallers: MachineCallers;
  let allowedInDevelopment: Colleague;
  let deniedInStaging: Colleague;

  before(async () => {
    neighbours = await startNeighbours(database);
    service = neighbours.service;
    const { ours, theirs, owner } = neighbours;
    machineCallers = await makeMachineCallers(theirs.world);
    const withGrants = async (...statements: Parameters<Neighbours['grant']>[0]) => {
      const person = await addColleague(service, ours.tenantId, 'member');
      const grant = await granter(service, person.id, owner);
      await grant(statements);
      return person;
    };
    const all = { action: ['*'], resource: ['vault/**'] };
    allowedInDevelopment = await withGrants({ ...all, condition: { environment: ['development'] } });
    deniedInStaging = await withGrants(all, { ...all, effect: 'deny', condition: { environment: ['staging'] } });
  });
  after(async () => {
    machineCallers.close();
    await service.close();
  });

  const sendingAs =
    (token: string): Intruder['send'] =>
    (declaration, input) =>
      send(service, declaration, input, token);

  const stranger = (title: string, side: Side): Intruder => ({
    title,
    send: sendingAs(side.token),
    isInside: false,
    refusals: ({ tenant }) => (tenant === 'operator' ? [403] : [404, 422]),
    async own(make) {
      const input = await make(side.world, senderOf(side));
      return { input, references: referencesIn(input, await identifiersOf(service, side)) };
    },
    knows: [],
    triesSpellings: true,
  });

  const colleague = (title: string, { token }: Colleague): Intruder => ({
    title,
    send: sendingAs(token),
    isInside: true,
    // An approval that one may not see does not exist; everything else is refused before that check.
    // What is under `self` is everybody's own, and what is somebody else's is not there.
    refusals: ({ noun, resource }) => (noun === 'approvals' || resource.startsWith('self/') ? [404] : [403]),
    own: async () => null,
    knows: [],
    triesSpellings: false,
  });

  const neighbour = (): Intruder => ({
    ...colleague('a member with a grant elsewhere', neighbours.elsewhere),
    async own(make) {
      const { ours } = neighbours;
      const input = await make(ours.world, senderOf(ours));
      const { vault, environment_id } = input.params ?? {};
      if (vault === undefined && environment_id === undefined) return null;
      const resource = [
        ...(vault === undefined ? [] : [`vault/${vault}`, `vault/${vault}/**`]),
        ...(environment_id === undefined ? [] : [`environment/${environment_id}`]),
      ];
      await neighbours.grant([{ action: ['*'], resource }]);
      return { input, references: referencesIn(input, await identifiersOf(service, ours)) };
    },
    // A manager lets people and groups into a vault.
    knows: ['user', 'group', 'email', 'groups name'],
  });

  /** Machines of another tenant, which may do everything there. */
  function machines(declaration: EndpointDeclaration): Intruder[] {
    if (!isForMachines(declaration)) return [];
    // With a certificate alone the path of one endpoint says who calls: there another's name is a failed login, which has its own tests.
    const isClaim = (kind: MachineCallerKind) => kind === 'certificate' && declaration.path.includes('{client_id}');
    const accepted = MACHINE_CALLERS.filter((kind) => acceptsAny(declaration, CREDENTIALS_OF[kind]) && !isClaim(kind));
    return accepted.map((kind) => ({
      title: `a machine of another tenant, by ${kind}`,
      send: (_, input) => machineCallers[kind].call(declaration.method, pathOf(declaration, input), input.body),
      isInside: false,
      // What is outside the vaults of a connection is refused before it is looked for.
      refusals: ({ format }) => [403, 404, 409, format === undefined ? 422 : 400],
      own: async () => null,
      knows: [],
      triesSpellings: false,
    }));
  }

  function colleagues(): Intruder[] {
    return [
      { ...colleague('a member without grants', neighbours.member), triesSpellings: true },
      neighbour(),
      colleague('a member with a grant on another condition', allowedInDevelopment),
      colleague('a member with everything but this', deniedInStaging),
    ];
  }

  /** Where an input names only what it would make, that is made first. */
  async function targetOf(side: Side, declaration: EndpointDeclaration, make: MakeInput): Promise<Target> {
    const input = await make(side.world, senderOf(side));
    const look = async () => {
      const known = await identifiersOf(service, side, declaration.tenant === 'operator');
      return { input, known, references: referencesIn(input, known) };
    };
    let target = await look();
    const isToBeMade =
      declaration.status === 201 &&
      namingFields(declaration).some((field) => isFree(declaration, field)) &&
      target.references.every(({ field }) => field.startsWith('params.'));
    if (isToBeMade) {
      await ok(side.world.service.call(declaration.method, pathOf(declaration, input), { body: input.body }), 201);
      target = await look();
    }
    for (const [name, text] of Object.entries(input.params ?? {})) {
      // One of three plans, a job, or a document of SCIM, which belong to the installation.
      if (['putPlan', 'runJob', 'readScimSchema', 'readScimResourceType'].includes(declaration.name)) continue;
      const isNamed = target.references.some(({ field }) => field === `params.${name}`);
      assert.ok(isNamed, `{${name}} names nothing that the tenant has: ${text}`);
    }
    for (const { field } of target.references) named.add(`${declaration.name} ${field}`);
    return target;
  }

  /** The input with all in it that names something, and each by itself, replaced by what never was. */
  function twinsOf({ references, known }: Target): Map<string, string>[] {
    const never = new Map(references.map((reference) => [reference.text, neverWas(reference, known)]));
    return never.size === 1 ? [never] : [never, ...[...never].map((pair) => new Map([pair]))];
  }

  interface Trial {
    declaration: EndpointDeclaration;
    send: Intruder['send'];
    where: string;
    /** Makes an input in which the other's things stand: anew, since a call that passes may have used it up. */
    real(): Promise<Input>;
    twins: readonly Map<string, string>[];
    refusals: readonly number[];
    mayPass: boolean;
    /** What must not stand in an answer that passes; null: of their own tenant they may be told more. */
    hidden: Identifiers | null;
  }

  /** Refused, told the same, and after the same queries, as with what never was. Answers whether it passed. */
  async function tellsNothing(trial: Trial): Promise<boolean> {
    const { declaration, twins, where } = trial;
    const real = await trial.real();
    const { result: first, queries } = await queriesDuring(() => trial.send(declaration, real));
    const isPassed = first.status < 400;
    if (!isPassed) assert.ok(trial.refusals.includes(first.status), `${where}: ${first.status} ${first.text}`);
    else {
      assert.ok(trial.mayPass, `${where}: ${first.status} ${first.text}`);
      assert.deepEqual(trial.hidden?.within(first.text, [...(twins[0]?.keys() ?? [])]) ?? [], [], where);
    }
    for (const by of twins) {
      count++;
      const twin = replaced(isPassed ? await trial.real() : real, by);
      const second = await queriesDuring(() => trial.send(declaration, twin));
      assert.deepEqual(toldBy(second.result, by.values()), toldBy(first, by.keys()), `${where}: ${[...by]}`);
      const isAsBefore = second.queries.join() === queries.join();
      if (!isPassed && !isAsBefore) await asksTheSame(trial, real, twin, `${where}: ${[...by]}`);
    }
    return isPassed;
  }

  /** Of the first request after a change a cache knows nothing, so a difference counts if it comes again. */
  async function asksTheSame({ declaration, send }: Trial, real: Input, twin: Input, where: string) {
    const simulated = async (input: Input) =>
      (await queriesDuring(() => send(declaration, input))).queries
        .filter((sql) => !DUE_WORK.test(sql))
        .map((sql) => sql.slice(0, 300));
    for (let n = 1; ; n++) {
      const [first, second] = [await simulated(real), await simulated(twin)];
      if (n < QUERY_TRIES && first.join() !== second.join()) continue;
      assert.deepEqual(first, second, `${where}: other queries are asked for what exists`);
      return;
    }
  }

  function tryDirectly(declaration: EndpointDeclaration, intruder: Intruder, target: Target): Promise<boolean> {
    const fields = target.references.map(({ field }) => field);
    return tellsNothing({
      declaration,
      send: intruder.send,
      where: `${intruder.title}, ${nameOf(declaration)} with ${fields}`,
      real: async () => target.input,
      twins: twinsOf(target),
      refusals: intruder.refusals(declaration),
      mayPass: fields.every((field) => isFree(declaration, field)),
      hidden: intruder.isInside ? null : target.known,
    });
  }

  async function tryLookAlikes(declaration: EndpointDeclaration, intruder: Intruder, target: Target): Promise<void> {
    const { input, known, references } = target;
    const inPath = references.filter(({ field }) => field.startsWith('params.'));
    if (inPath.length === 0) return;
    const never = new Map(inPath.map((reference) => [reference.text, neverWas(reference, known)]));
    for (const [title, alike] of Object.entries(LOOK_ALIKES)) {
      const told = async (texts: Map<string, string>) => {
        const answer = await intruder.send(declaration, replaced(input, texts));
        return toldBy(
          answer,
          [...texts.values()].flatMap((text) => [text, decodeURIComponent(text)]),
        );
      };
      count++;
      const first = await told(new Map([...never.keys()].map((text) => [text, alike(text)])));
      const second = await told(new Map([...never].map(([text, twin]) => [text, alike(twin)])));
      const where = `${intruder.title}, ${nameOf(declaration)}, ${title}`;
      assert.ok(first.status >= 400 && first.status < 500, `${where}: ${first.status}`);
      assert.deepEqual(second, first, where);
    }
  }

  /** One thing of the other's among what the intruder holds. */
  async function tryAmongOwn(declaration: EndpointDeclaration, intruder: Intruder, make: MakeInput, target: Target) {
    for (const foreign of target.references) {
      if (intruder.knows.includes(foreign.kind)) continue;
      const put = async () => {
        const held = await intruder.own(make);
        const own = held?.references.find(({ field }) => field === foreign.field);
        return held && own ? replaced(held.input, new Map([[own.text, foreign.text]])) : null;
      };
      const first = await put();
      if (first === null) continue;
      let isFirst = true;
      await tellsNothing({
        declaration,
        send: intruder.send,
        where: `${intruder.title}, ${nameOf(declaration)} among their own, with ${foreign.field}`,
        real: async () => {
          const input = isFirst ? first : await put();
          isFirst = false;
          return input ?? first;
        },
        twins: [new Map([[foreign.text, neverWas(foreign, target.known)]])],
        refusals: [403, 404, 422],
        mayPass: isFree(declaration, foreign.field),
        hidden: intruder.isInside ? null : target.known,
      });
    }
  }

  async function walk(declaration: EndpointDeclaration, side: Side, intruders: readonly Intruder[]): Promise<void> {
    for (const [i, make] of makersOf(declaration).entries()) {
      let target = await targetOf(side, declaration, make);
      if (target.references.length === 0) continue;
      let state = await stateOf(service, side.tenantId);
      // Where nobody may pass, the state is read once, after all of them: reading it takes longer than they do.
      const mayPass = target.references.every(({ field }) => isFree(declaration, field));
      for (const intruder of intruders) {
        const isPassed = await tryDirectly(declaration, intruder, target);
        if (i === 0 && intruder.triesSpellings) await tryLookAlikes(declaration, intruder, target);
        if (!intruder.isInside) await tryAmongOwn(declaration, intruder, make, target);
        if (!mayPass && intruder !== intruders.at(-1)) continue;
        const before = state;
        state = await stateOf(service, side.tenantId);
        const who = mayPass ? intruder.title : `one of ${intruders.map(({ title }) => title)}`;
        if (!isPassed || !intruder.isInside) assert.deepEqual(state, before, `${who} changed something`);
        if (!isPassed || intruder.isInside) continue;
        // They have made something of this name in their own tenant: the next of them would find that.
        target = await targetOf(side, declaration, make);
        state = await stateOf(service, side.tenantId);
      }
      for (const intruder of intruders) {
        if (intruder.isInside) await tryAmongOwn(declaration, intruder, make, target);
      }
    }
  }

  for (const declaration of walked) {
    test(nameOf(declaration), async () => {
      const { ours, theirs } = neighbours;
      const people = isForPeople(declaration) ? [stranger('an admin of another tenant', theirs), ...colleagues()] : [];
      await walk(declaration, ours, [...people, ...machines(declaration)]);
      if (!isForPeople(declaration)) return;
      // Who runs the installation runs its tenants, and sees nothing of what is in them.
      if (declaration.tenant === 'operator') return;
      await walk(declaration, theirs, [stranger('an admin of the installation', ours)]);
    });
  }
}

test('every field that names something is named by an input', () => {
  const missing = WALKED.flatMap((declaration) =>
    namingFields(declaration)
      .map((field) => `${declaration.name} ${field}`)
      .filter((field) => !named.has(field)),
  );
  const advice =
    'give each field the name or id of something in INPUTS (test/support/endpoint-inputs.ts) or MORE_INPUTS, or add it to PLAIN in this file if it names nothing';
  assert.deepEqual(missing, [], advice);
});
