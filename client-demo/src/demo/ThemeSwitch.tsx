import { useEffect, useState } from 'react';

import { Icon } from './Icon';
import { choose, onSystemTheme, theme } from './theme';

export function ThemeSwitch() {
  const [current, setCurrent] = useState(theme);
  useEffect(() => onSystemTheme(() => setCurrent(theme())), []);
  const dark = current === 'dark';

  const flip = () => {
    choose(dark ? 'light' : 'dark');
    setCurrent(theme());
  };

  return (
    <button type="button" className="button icon-button" aria-label="Dark theme" aria-pressed={dark} onClick={flip}>
      <Icon path={dark ? MOON : SUN} />
    </button>
  );
}

const MOON = 'M8 2.6A7.6 7.6 0 1 0 17.4 12 6.2 6.2 0 0 1 8 2.6Z';
const SUN =
  'M10 6.4a3.6 3.6 0 1 0 0 7.2 3.6 3.6 0 1 0 0-7.2M10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6 16 16M4 16l1.4-1.4M14.6 5.4 16 4';
