// Keeps a page of the console up to date: lets times run down, and applies what its
// stream reports. Without this script every page works, as it was when it was loaded.
'use strict';
(() => {
  const stream = document.body.dataset.stream;
  const status = document.getElementById('live');
  const ends = new WeakMap(); // element → when, by performance.now(), it has run down or started
  // A stream that is silent for so many milliseconds, three times the server's beat, has
  // lost its server, though the browser may not know.
  const silence = 15000;
  const maxRows = 300; // more come only until the page is loaded again

  // Texts of times, as the server writes them.
  const two = (n) => String(n).padStart(2, '0');
  const spanText = (seconds) => {
    const s = Math.ceil(seconds);
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${two(s % 60)} s`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ${two(Math.floor(s / 60) % 60)} min`;
    return `${Math.floor(s / 86400)} d ${two(Math.floor(s / 3600) % 24)} h`;
  };
  const setText = (element, text) => {
    if (element && element.textContent !== text) element.textContent = text;
  };

  // tick lets all times on the page run, by this page's own clock.
  const tick = () => {
    if (document.hidden) return;
    const now = performance.now();
    for (const element of document.querySelectorAll('[data-left]')) {
      let end = ends.get(element);
      if (end === undefined) {
        end = now + 1000 * Number(element.dataset.left);
        ends.set(element, end);
      }
      const left = Math.max(0, (end - now) / 1000);
      const bar = element.querySelector('progress');
      if (bar) {
        bar.value = left;
        element.classList.toggle('soon', left < 0.2 * bar.max);
      }
      setText(element.querySelector('.t'), spanText(left));
    }
    for (const element of document.querySelectorAll('[data-for]')) {
      let start = ends.get(element);
      if (start === undefined) {
        start = now - 1000 * Number(element.dataset.for);
        ends.set(element, start);
      }
      setText(element, spanText((now - start) / 1000));
    }
  };
  tick();
  setInterval(tick, 500);
  if (!stream) return;

  const show = (state, text) => {
    if (document.documentElement.dataset.live === state) return;
    document.documentElement.dataset.live = state;
    status.textContent = text;
  };

  // keepFocus runs change, and gives the focus to the same link as before, or to the
  // drawing in its place, which stays where it was moved to.
  const keepFocus = (part, change) => {
    const active = document.activeElement;
    const focused = active && part.contains(active);
    const link = focused ? active.getAttribute('href') || active.id : null;
    const drawings = Array.from(part.querySelectorAll('.scroll'), (drawing) => [drawing.scrollLeft, drawing === active]);
    const region = part.id;
    change();
    if (drawings.length) {
      const fresh = document.getElementById(region).querySelectorAll('.scroll');
      drawings.forEach(([left, had], i) => {
        if (!fresh[i]) return;
        fresh[i].scrollLeft = left;
        if (had) fresh[i].focus({ preventScroll: true });
      });
    }
    if (!link) return;
    for (const element of document.querySelectorAll('main a[href], main [id]')) {
      if (element.getAttribute('href') === link || element.id === link) {
        element.focus({ preventScroll: true });
        return;
      }
    }
  };

  // The table of leases.
  const table = document.getElementById('rows');
  const rowsByName = new Map();
  const index = () => {
    rowsByName.clear();
    if (table) for (const row of table.rows) rowsByName.set(row.dataset.name, row);
  };
  index();
  // compare orders names by their characters' numbers, which is the server's order.
  const compare = (a, b) => {
    const left = Array.from(a);
    const right = Array.from(b);
    for (let i = 0; i < left.length && i < right.length; i++) {
      const difference = left[i].codePointAt(0) - right[i].codePointAt(0);
      if (difference !== 0) return difference;
    }
    return left.length - right.length;
  };
  const place = (row) => {
    let low = 0;
    let high = table.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(table.rows[middle].dataset.name, row.dataset.name) < 0) low = middle + 1;
      else high = middle;
    }
    table.insertBefore(row, table.rows[low] || null);
  };
  const parseRow = (html) => {
    const template = document.createElement('template');
    template.innerHTML = html;
    return template.content.querySelector('tr');
  };
  // removeRow gives the focus, if the row has it, to the row in its place.
  const removeRow = (row) => {
    const next = row.contains(document.activeElement) ? row.nextElementSibling || row.previousElementSibling : null;
    row.remove();
    if (next) next.querySelector('a').focus({ preventScroll: true });
  };
  let missed = null; // rows that came while the page was loaded again
  const applyRows = (list) => {
    if (missed) missed.push(list);
    for (const { name, html } of list) {
      const old = rowsByName.get(name);
      if (!html) {
        if (old) removeRow(old);
        rowsByName.delete(name);
        continue;
      }
      const row = parseRow(html);
      rowsByName.set(name, row);
      if (old) {
        if (old.dataset.v !== row.dataset.v) row.classList.add('fresh');
        keepFocus(old, () => old.replaceWith(row));
      } else {
        row.classList.add('fresh');
        place(row);
      }
    }
    afterRows();
    if (table.rows.length > maxRows) sync();
    tick();
  };
  const afterRows = () => {
    const empty = document.getElementById('empty');
    if (empty) empty.hidden = table.rows.length > 0;
  };
  const applyTable = (fresh) => {
    const wanted = Array.from(fresh.rows);
    const names = new Set(wanted.map((row) => row.dataset.name));
    for (const [name, row] of rowsByName) if (!names.has(name)) removeRow(row);
    let next = table.firstElementChild;
    for (const row of wanted) {
      const old = rowsByName.get(row.dataset.name);
      if (old && old.dataset.v === row.dataset.v && old === next) {
        const time = old.querySelector('[data-left]');
        const now = row.querySelector('[data-left]');
        if (time && now) {
          time.dataset.left = now.dataset.left;
          ends.delete(time);
        }
        next = next.nextElementSibling;
        continue;
      }
      if (old) {
        if (old === next) next = next.nextElementSibling;
        keepFocus(old, () => {
          old.remove();
          table.insertBefore(row, next);
        });
      } else table.insertBefore(row, next);
    }
    index();
    afterRows();
  };

  const applyTotals = ({ leases, more, waiting }) => {
    setText(document.getElementById('count'), (more ? 'more than ' : '') + leases);
    setText(document.getElementById('waiting'), String(waiting));
  };

  // sync loads the page again and shows what differs.
  let syncing = false;
  let again = false;
  const sync = async () => {
    if (syncing) {
      again = true;
      return;
    }
    syncing = true;
    missed = [];
    try {
      const answer = await fetch(location.href, { cache: 'no-store', headers: { Accept: 'text/html' }, signal: AbortSignal.timeout(silence) });
      if (answer.redirected || answer.status === 401) {
        location.reload(); // the login has ended
        return;
      }
      if (answer.ok) {
        const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
        const late = missed; // the page may be older
        missed = null;
        apply(page);
        late.forEach(applyRows);
      } else if (answer.status === 429 || answer.status >= 500) again = true; // busy: what changed still has to be shown
    } catch {
      if (source && source.readyState === EventSource.OPEN) again = true; // else the stream brings it here again
    } finally {
      syncing = false;
      missed = null;
      if (again) {
        again = false;
        setTimeout(sync, 250 + 500 * Math.random());
      }
    }
  };
  const apply = (page) => {
    for (const fresh of page.querySelectorAll('[data-region]')) {
      const old = document.getElementById(fresh.id);
      if (!old) continue;
      if (old === table) applyTable(fresh);
      else if (old.dataset.region === 'form' && (old.contains(document.activeElement) || old.querySelector('details[open]'))) continue;
      else keepFocus(old, () => old.replaceWith(fresh));
    }
    tick();
  };

  // The stream.
  let source = null;
  let heard = 0;
  let failures = 0;
  let timer = 0;
  const close = () => {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
  };
  const open = () => {
    close();
    source = new EventSource(stream);
    heard = performance.now();
    const on = (name, act) => source.addEventListener(name, (event) => {
      heard = performance.now();
      act(JSON.parse(event.data));
    });
    on('hello', () => {
      failures = 0;
      show('on', 'Live');
      sync();
    });
    on('rows', applyRows);
    on('totals', applyTotals);
    on('changed', sync);
    on('beat', () => {});
    source.onerror = () => {
      show('lost', 'Connection lost, trying again');
      if (source && source.readyState === EventSource.CLOSED) {
        failures++;
        timer = setTimeout(failures > 1 ? retry : open, Math.min(10000, 500 * 2 ** failures));
      }
    };
  };
  // retry also notices a login that has ended.
  const retry = async () => {
    await sync();
    open();
  };

  setInterval(() => {
    if (!source || source.readyState === EventSource.CLOSED || performance.now() - heard < silence) return;
    show('lost', 'Connection lost, trying again');
    open();
  }, 1000);

  // A page that nobody sees needs no stream.
  let hiding = 0;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hiding);
    if (document.hidden) {
      hiding = setTimeout(() => {
        close();
        show('paused', 'Paused');
      }, 5000);
    } else if (!source) open();
  });
  window.addEventListener('pagehide', close);
  window.addEventListener('pageshow', (event) => {
    if (event.persisted && !document.hidden) open();
  });
  if (!document.hidden) open();
})();
