import { type ComponentType, h } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { asCofferError } from '../app/loading.ts';
import { ErrorNote } from './notice.tsx';

/** A part of a page that is loaded when it is shown first. */
export function lazyPart<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): ComponentType<P> {
  return function LazyPart(props: P) {
    const [Part, setPart] = useState<ComponentType<P> | null>(null);
    const [error, setError] = useState<unknown>(null);
    useEffect(() => {
      load().then((module) => setPart(() => module.default), setError);
    }, []);
    if (error !== null) return <ErrorNote error={asCofferError(error)} retry={() => location.reload()} />;
    return Part === null ? null : h(Part, props);
  };
}
