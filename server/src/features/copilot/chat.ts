import { CofferError, invalidField } from '../../kernel/base/errors.ts';
import { EVENT_STREAM } from '../../kernel/endpoint/declaration.ts';
import { Streamed } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import { type Assistant, Conversation } from './assistant.ts';
import { CHAT_INSTRUCTIONS } from './framing.ts';
import type { Message } from './providers/provider.ts';
import { type ChatMessage, PROMPT_LENGTH_MAX } from './schemas.ts';

export async function chat(ctx: Context, assistant: Assistant, messages: readonly ChatMessage[]) {
  assistant.requireEnabled();
  if (messages.at(-1)?.role !== 'user') throw invalidField('/body/messages', 'must end with a message of the user');
  const length = messages.reduce((sum, { content }) => sum + content.length, 0);
  if (length > PROMPT_LENGTH_MAX)
    throw invalidField(
      '/body/messages',
      `must have at most ${PROMPT_LENGTH_MAX} characters in all: leave out old messages`,
    );
  const conversation = new Conversation(ctx);
  const sent: Message[] = [{ role: 'system', content: CHAT_INSTRUCTIONS }, ...messages];
  if (acceptsEvents(ctx)) {
    const parts = await assistant.replyInParts(ctx, conversation, sent);
    ctx.setHeader('Content-Type', EVENT_STREAM);
    ctx.setHeader('Cache-Control', 'no-store');
    return new Streamed(eventsOf(parts, conversation));
  }
  const content = await assistant.reply(ctx, conversation, sent);
  return { message: { role: 'assistant' as const, content }, redactions: conversation.redaction.counts };
}

function acceptsEvents({ call }: Context): boolean {
  const accepted = (call.headers.accept ?? '')
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim().toLowerCase()));
  return accepted.some(
    ([type, ...parameters]) => type === EVENT_STREAM && !parameters.some((one) => /^q=0(?:\.0*)?$/.test(one)),
  );
}

async function* eventsOf(
  parts: AsyncGenerator<string, void>,
  { redaction }: Conversation,
): AsyncGenerator<string, void> {
  // A comment, so that the caller gets the headers at once and not with the first part.
  yield ': ok\n\n';
  try {
    for await (const content of parts) yield event('delta', { content });
    yield event('done', { redactions: redaction.counts });
  } catch (error) {
    // The status is sent already, so the error is an event.
    if (!(error instanceof CofferError)) throw error;
    yield event('error', { code: error.code, message: error.message });
  }
}

function event(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
