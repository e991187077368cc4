export { ACTIONS } from './generated.ts';
