export {
  isAnyPartListed,
  type PlannedTemplate,
  planTemplates,
  problemOf,
  type Resolved,
  recordPlanned,
  resolvedValues,
  type TemplatePlan,
  type TypedRow,
} from './bulk-templates.ts';
export { isTemplate, type PartReader } from './parts.ts';
export { partsOfTemplates, partsVersions, type TemplatePart, visibleParts } from './referrers.ts';
export { fillTemplate, recordParts } from './resolution.ts';
export { TemplateProblem } from './template-problem.ts';
