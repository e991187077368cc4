export { accessAddress } from './focus.ts';
