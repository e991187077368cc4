import Stripe from 'stripe';
import type { Answer, Service } from './service.ts';

export const STRIPE_SECRET = `whsec_${'s3'.repeat(16)}`;
export const STRIPE_ENV = {
  CV_STRIPE_WEBHOOK_SECRET: STRIPE_SECRET,
  CV_STRIPE_PRICES: 'price_pro=professional,price_ent=enterprise',
};

/** Makes signatures only; it never calls anybody. */
const stripe = new Stripe('sk_test_none');

let made = 0;

export function newStripeId(prefix: string): string {
  made++;
  return `${prefix}_${process.pid}x${made}`;
}

export interface StripeEvent {
  id: string;
  object: 'event';
  type: string;
  created: number;
  data: { object: object };
}

export function stripeEvent(type: string, object: object, at: number): StripeEvent {
  return { id: newStripeId('evt'), object: 'event', type, created: Math.floor(at / 1000), data: { object } };
}

/** Signed by Stripe's own library. */
export function signatureOf(payload: string, at: number, secret = STRIPE_SECRET): string {
  return stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: Math.floor(at / 1000) });
}

export function sendEvent(service: Service, event: object, more: { secret?: string } = {}): Promise<Answer> {
  const body = JSON.stringify(event);
  const signature = signatureOf(body, service.clock.now(), more.secret);
  return service.call('POST', '/billing/webhook', { token: null, body, headers: { 'stripe-signature': signature } });
}

export function subscription(facts: { id: string; status: string; tenant?: string; price?: string }): object {
  const { id, status, tenant, price = 'price_pro' } = facts;
  return {
    id,
    object: 'subscription',
    customer: `cus_${id}`,
    status,
    metadata: tenant === undefined ? {} : { tenant_id: tenant },
    items: { object: 'list', data: [{ id: `si_${id}`, price: { id: price, object: 'price' } }] },
  };
}
