export {
  openZeroKnowledge,
  openZeroKnowledgeBytes,
  type SealOptions,
  sealZeroKnowledge,
  ZeroKnowledgeError,
  type ZeroKnowledgeSecret,
} from './zero-knowledge.ts';
export type { ZeroKnowledgeAlgorithm, ZeroKnowledgeDerivation } from './zero-knowledge-envelope.ts';
