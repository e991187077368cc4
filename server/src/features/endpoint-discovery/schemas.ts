import Type, { type Static } from 'typebox';
import { named } from '../../kernel/wire/named-schemas.ts';
import { id, nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';

/** Text from a host, which each of its accounts may choose: only control characters are refused, so that no account stops the report of all others. */
const reportedText = (limits: { minLength?: number; maxLength: number }, description: string) =>
  Type.String({ ...limits, pattern: '^[^\\u0000-\\u001f\\u007f]*$', description });

export const ACCOUNTS_MAX = 10_000;
export const KEYS_PER_ACCOUNT_MAX = 1000;
/** Far more than a real host has; without it a report could hold ten million keys. */
export const KEYS_PER_REPORT_MAX = 60_000;
export const REPORT_BYTES_MAX = 12 * 1024 * 1024;
/** Keys and elements of a report: nine for each account and five for each key, with room for flags. */
export const REPORT_MEMBERS_MAX = 10 * ACCOUNTS_MAX + 7 * KEYS_PER_REPORT_MAX;
const USERNAME_CHARS_MAX = 256;
const PATH_CHARS_MAX = 1024;
const COMMENT_CHARS_MAX = 512;
const KEY_TYPE_CHARS_MAX = 64;
const FLAGS_MAX = 16;
const UID_MAX = 2 ** 32 - 1;

/** Opaque and compared byte by byte: another spelling of it is another host. */
export const hostId = Type.String({
  pattern: '^host_[A-Za-z0-9._-]{1,64}$',
  examples: ['host_3f9c2a7d41b8e6053f9c2a7d41b8e605'],
  description: 'The stable id of the host: `host_` and 1 to 64 letters, digits, dots, underscores or hyphens.',
});
const hostname = reportedText({ minLength: 1, maxLength: 253 }, 'The name of the host.');
/** Every text in a report comes from a host that somebody else may control, so none may have control characters. */
const username = reportedText({ minLength: 1, maxLength: USERNAME_CHARS_MAX }, 'The name of the local account.');
const keyType = Type.String({
  minLength: 1,
  maxLength: KEY_TYPE_CHARS_MAX,
  pattern: '^[A-Za-z0-9@._-]+$',
  examples: ['ssh-ed25519'],
  description: 'The type of the key, such as ssh-ed25519 or ssh-rsa.',
});
const fingerprint = Type.String({
  pattern: '^SHA256:[A-Za-z0-9+/]{43}$',
  examples: ['SHA256:uNiVztksCsDhcc0u9e8BrqxBcnhBlckLxyNDRJf2SPM'],
  description: 'The SHA-256 fingerprint as OpenSSH writes it.',
});
const comment = reportedText({ maxLength: COMMENT_CHARS_MAX }, 'The comment of the key.');
const accountNumber = (description: string) => Type.Integer({ minimum: 0, maximum: UID_MAX, description });
const flags = (description: string) =>
  Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,63}$' }), {
    maxItems: FLAGS_MAX,
    uniqueItems: true,
    description,
  });

/** Flags of a key that does not let anybody in by itself. */
export const INACTIVE_KEY_FLAGS = ['cert_authority', 'expired'] as const;

const KEY_FLAGS = 'What is special about the key: cert_authority and expired mean that it lets nobody in by itself.';

export const SshKey = named(
  'ReportedSshKey',
  'A key that may log in to an account. Private keys are never sent.',
  object({
    type: keyType,
    fingerprint_sha256: fingerprint,
    comment: Type.Optional(comment),
    flags: Type.Optional(flags(KEY_FLAGS)),
  }),
);

export const ReportedAccount = named(
  'ReportedAccount',
  'A local account.',
  object({
    username,
    uid: accountNumber('Its number.'),
    gid: Type.Optional(accountNumber('The number of its group.')),
    home: Type.Optional(reportedText({ maxLength: PATH_CHARS_MAX }, 'The home directory.')),
    shell: reportedText({ maxLength: PATH_CHARS_MAX }, 'The login shell. Accounts with nologin or false are excluded.'),
    flags: Type.Optional(flags('What the agent noticed about the account.')),
    ssh_keys: Type.Array(SshKey, { maxItems: KEYS_PER_ACCOUNT_MAX, description: 'The keys that may log in.' }),
  }),
);
export type ReportedAccount = Static<typeof ReportedAccount>;

export const reportFields = {
  host_id: hostId,
  hostname: Type.Optional(hostname),
  scanned_at: Type.String({ format: 'date-time', maxLength: 40, description: 'When the host was scanned.' }),
  flags: Type.Optional(flags('What the agent could not look at.')),
  accounts: Type.Array(ReportedAccount, { maxItems: ACCOUNTS_MAX, description: 'All local accounts.' }),
};

const accountFields = {
  id: id('acct'),
  cluster_id: id('cluster'),
  host_id: Type.String({ description: 'The id of the host.' }),
  hostname: nullable(Type.String({ description: 'The name of the host.' })),
  username: Type.String({ description: 'The name of the local account.' }),
  uid: Type.Integer({ description: 'Its number.' }),
  gid: nullable(Type.Integer({ description: 'The number of its group.' })),
  home: nullable(Type.String({ description: 'Its home directory.' })),
  shell: Type.String({ description: 'Its login shell.' }),
  flags: Type.Array(Type.String(), { description: 'What the agent noticed about the account.' }),
  ssh_keys_count: Type.Integer({ description: 'How many keys may log in.' }),
  user_id: nullable(Type.String({ description: 'The person that somebody linked the account to.' })),
  is_present: Type.Boolean({ description: 'Whether the last scan of the host found it.' }),
  first_seen_at: timestampText,
  last_seen_at: timestampText,
};

export const EndpointAccount = named('EndpointAccount', 'An account on a host.', object(accountFields));
export type EndpointAccount = Static<typeof EndpointAccount>;

export const EndpointSshKey = named(
  'EndpointSshKey',
  'A key that may log in to an account.',
  object({
    type: Type.String({ description: 'The type of the key.' }),
    fingerprint_sha256: Type.String({ description: 'Its fingerprint.' }),
    comment: Type.String({ description: 'Its comment; empty if it has none.' }),
    flags: Type.Array(Type.String(), { description: KEY_FLAGS }),
    first_seen_at: timestampText,
  }),
);

export const EndpointAccountWithKeys = named(
  'EndpointAccountWithKeys',
  'An account on a host, with its keys.',
  object({ ...accountFields, ssh_keys: Type.Array(EndpointSshKey) }),
);
export type EndpointAccountWithKeys = Static<typeof EndpointAccountWithKeys>;

export const DRIFT_KINDS = ['orphan_account', 'former_employee_key', 'missing_key'] as const;
export type DriftKind = (typeof DRIFT_KINDS)[number];
export const driftKind = named(
  'DriftKind',
  'orphan_account: an account with a key, but nobody who is a member of a vault. missing_key: a member of a vault without a key on production hosts. former_employee_key: a key of somebody who was disabled or deleted.',
  oneOf(DRIFT_KINDS),
);

export const DriftItem = named(
  'EndpointDrift',
  'A difference between hosts and members of vaults.',
  object({
    kind: driftKind,
    account_id: nullable(id('acct'), 'Null for a missing key.'),
    cluster_id: nullable(id('cluster')),
    host_id: nullable(Type.String({ description: 'The id of the host.' })),
    hostname: nullable(Type.String({ description: 'The name of the host.' })),
    username: nullable(Type.String({ description: 'The name of the local account.' })),
    user_id: nullable(Type.String({ description: 'The person it is about.' })),
    email: nullable(Type.String({ description: 'Their e-mail address.' })),
    fingerprint_sha256: nullable(Type.String({ description: 'The key it is about.' })),
    comment: nullable(Type.String({ description: 'The comment of the key.' })),
  }),
);
export type DriftItem = Static<typeof DriftItem>;
