import Type, { type Static } from 'typebox';
import { named } from '../../kernel/wire/named-schemas.ts';
import { object, oneOf, record } from '../../kernel/wire/wire.ts';

/** Longer conversations cost more than they help, and every part of them is compared with the stored values. */
export const MESSAGES_MAX = 64;
export const MESSAGE_LENGTH_MAX = 16_384;
export const PROMPT_LENGTH_MAX = 32_768;
/** A reply is text for a person to read, and all of it is scanned. */
export const REPLY_LENGTH_MAX = 32_768;
const KINDS_MAX = 32;

export const Redactions = named(
  'Redactions',
  'How often something of each kind was masked, in what was sent and in the reply: private_key, secret, token, password, card, iban, personal_id, email, phone, internal_address, internal_host. What it was is shown nowhere.',
  record('^[a-z_]{1,32}$', Type.Integer({ minimum: 1, description: 'How often.' }), { maxProperties: KINDS_MAX }),
);

export const SuggestedRequest = named(
  'SuggestedRequest',
  'A request to this service that you can send yourself. The assistant sends none.',
  object({
    method: oneOf(['GET', 'POST', 'PUT', 'DELETE'], 'Method of the request.'),
    path: Type.String({ description: 'Path of the request.' }),
    body: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: 'Body of the request, if it has one.',
      }),
    ),
  }),
);

export const SuggestedTask = named(
  'SuggestedTask',
  'Something to do, computed from the data of the tenant.',
  object({
    title: Type.String({ description: 'What to do.' }),
    why: Type.String({ description: 'The reason.' }),
    request: SuggestedRequest,
  }),
);
export type SuggestedTask = Static<typeof SuggestedTask>;

export const phrased = Type.Boolean({
  description:
    'Whether the model wrote the text. If it could not be reached, the text is a plain one of the service; everything else is the same.',
});

/** It is read by the model alone, so it may be any text. */
export const messageText = (description: string) =>
  Type.String({ minLength: 1, maxLength: MESSAGE_LENGTH_MAX, pattern: '^[^\\u0000]*$', description });
const content = messageText('The text.');

export const ChatMessage = named(
  'ChatMessage',
  'A message of the conversation.',
  object({ role: oneOf(['user', 'assistant'], 'Who wrote it.'), content }),
);
export type ChatMessage = Static<typeof ChatMessage>;

export const ChatReply = named(
  'ChatReply',
  'The reply of the assistant, which can be sent back as a message of the conversation.',
  object({
    role: oneOf(['assistant'], 'Who wrote it.'),
    content: Type.String({
      description: `The text. A reply with more than ${REPLY_LENGTH_MAX} characters is cut off, and says so at its end.`,
    }),
  }),
);

export const CodeFinding = named(
  'CodeFinding',
  'Something in the code that should be looked at.',
  object({
    line: Type.Integer({ minimum: 1, description: 'The line, from 1.' }),
    rule: Type.String({ description: 'The rule that found it.' }),
  }),
);
export type CodeFinding = Static<typeof CodeFinding>;
