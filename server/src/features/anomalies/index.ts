export { AnomalyThresholds } from './schemas.ts';
