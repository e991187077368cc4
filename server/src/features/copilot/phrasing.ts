import { CofferError } from '../../kernel/base/errors.ts';
import type { Context } from '../../kernel/request/context.ts';
import { type Assistant, Conversation } from './assistant.ts';
import { asData, phrasingInstructions } from './framing.ts';
import type { Counts } from './redactor/redaction.ts';

export interface Phrased {
  readonly text: string;
  readonly phrased: boolean;
  readonly redactions: Counts;
}

/**
 * Lets the model put computed facts into words. If it cannot be reached, or says nothing, the plain text stands: what matters was computed before
 * and does not depend on the model.
 */
export async function phrase(
  assistant: Assistant,
  ctx: Context,
  { task, facts, plain }: { task: string; facts: unknown; plain: string },
): Promise<Phrased> {
  const conversation = new Conversation(ctx);
  const messages = [
    { role: 'system', content: phrasingInstructions(task) },
    { role: 'user', content: asData(facts) },
  ] as const;
  const text = await assistant.reply(ctx, conversation, messages).catch((error: unknown) => {
    if (error instanceof CofferError && error.code === 'COPILOT_UNAVAILABLE') return '';
    throw error;
  });
  const isPhrased = text.trim() !== '';
  conversation.describe({ phrased: isPhrased });
  return { text: isPhrased ? text.trim() : plain, phrased: isPhrased, redactions: conversation.redaction.counts };
}
