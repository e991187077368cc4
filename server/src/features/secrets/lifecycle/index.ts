export { type ImportEntry, type ImportTarget, type PlannedChange, secretImport } from './import.ts';
