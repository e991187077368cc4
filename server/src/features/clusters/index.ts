export { clusterRemoved } from './links.ts';
export { CLUSTER_POLICIES, CLUSTERS, countClusters, productionClusters } from './store.ts';
