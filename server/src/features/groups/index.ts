export { groupRemoved, provisionerOfGroup, refuseCostlyPolicies, rightsOfGroup, vaultsOfGroup } from './links.ts';
