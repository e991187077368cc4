import { unavailable } from '../../kernel/base/errors.ts';
import { OutgoingFailure } from '../../kernel/outbound/http-client.ts';
import type { Kernel } from '../../kernel/request/kernel.ts';
import { JsonError, parseJson } from '../../kernel/wire/json.ts';
import { type SubscriptionState, stateOf } from './event.ts';
import type { StripeConfig } from './settings.ts';

const ANSWER_BYTES_MAX = 256 * 1024;

/** The state of a subscription now. If it cannot be fetched, Stripe is told to send the event again. */
export async function fetchSubscription(
  { http, operatorTenantId }: Pick<Kernel, 'http' | 'operatorTenantId'>,
  { apiKey, apiUrl }: StripeConfig,
  subscriptionId: string,
): Promise<SubscriptionState> {
  const failed = (why: string, cause?: unknown) =>
    unavailable(
      'The subscription could not be fetched from Stripe: the event will be accepted later.',
      cause ?? new Error(why),
    );
  const answer = await http
    .send({
      owner: operatorTenantId,
      url: `${apiUrl}/v1/subscriptions/${encodeURIComponent(subscriptionId)}`,
      method: 'GET',
      headers: { authorization: `Bearer ${apiKey}` },
      bodyBytesMax: ANSWER_BYTES_MAX,
    })
    .catch((error) => {
      throw error instanceof OutgoingFailure ? failed('', error) : error;
    });
  if (answer.status !== 200) throw failed(`Stripe responded with status ${answer.status}`);
  const state = stateOf(parsed(answer.body));
  if (state?.subscriptionId !== subscriptionId)
    throw failed('Stripe responded with something else than the subscription');
  return state;
}

function parsed(body: Buffer): unknown {
  try {
    return parseJson(body);
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}
