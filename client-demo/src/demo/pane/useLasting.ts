import { useEffect, useState } from 'react';

/** Whether something has been so for that long. */
export function useLasting(isSo: boolean, millis: number): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    if (!isSo) return;
    const timer = setTimeout(() => setLasts(true), millis);
    return () => {
      clearTimeout(timer);
      setLasts(false);
    };
  }, [isSo, millis]);
  return isSo && lasts;
}
