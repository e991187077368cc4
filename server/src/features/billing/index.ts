export { SUBSCRIPTIONS } from './store.ts';
