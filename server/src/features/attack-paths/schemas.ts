import Type, { type Static } from 'typebox';
import { named } from '../../kernel/wire/named-schemas.ts';
import { id, nullable, object, oneOf, timestampText } from '../../kernel/wire/wire.ts';

const percentage = { minimum: 0, maximum: 100 };

export const Step = named(
  'AttackPathStep',
  'One link of an attack path.',
  object({
    kind: oneOf(['principal', 'credential', 'grant', 'secret'], 'What kind of link it is; a path has one of each.'),
    type: Type.String({
      description:
        'A principal: user, service, federated_identity, workload. A credential: password, token, client_secret, certificate, federation, workload_method. A grant: membership, role, policy, group, connection. A secret: its type.',
    }),
    id: Type.String({ description: 'Its id, or a name where it has none; empty for a password or a membership.' }),
    name: Type.String({ description: 'Its name; of a secret the vault and the path.' }),
    weakness: nullable(
      Type.Integer({ ...percentage, description: 'How weak it is, 100 being the weakest; null for both ends.' }),
    ),
    why: Type.String({ description: 'What its weakness consists of, as a sentence.' }),
  }),
);
export type Step = Static<typeof Step>;

export const AttackPath = named(
  'AttackPath',
  'A way from a principal to a secret.',
  object({
    id: id('apath'),
    score: Type.Integer({
      ...percentage,
      description: 'The weakness of the weakest link times the risk of the secret, divided by 100.',
    }),
    weakness: Type.Integer({ ...percentage, description: 'That of the weakest link.' }),
    steps: Type.Array(Step, { description: 'Principal, credential, grant, secret.' }),
    first_seen_at: timestampText,
    computed_at: timestampText,
  }),
);
export type AttackPath = Static<typeof AttackPath>;

/** What else a caller must be allowed to see a path: it shows names and ids of everything it leads through. */
export const LINK_ACTIONS = [
  'secrets:read_metadata',
  'members:list',
  'users:read',
  'tokens:read',
  'groups:read',
  'policies:read',
  'app_connections:read',
  'federations:read',
  'workload_methods:read',
] as const;
