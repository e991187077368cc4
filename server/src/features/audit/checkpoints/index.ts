export { checkpointToWire } from './checkpoint-wire.ts';
