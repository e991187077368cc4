export { graceUntil } from './links.ts';
