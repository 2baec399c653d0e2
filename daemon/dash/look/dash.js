// The one script of the dashboard: live updates, keys, copy and print. Every page works without it.
(function () {
  'use strict';
  var body = document.body, say = document.getElementById('say'), gone = document.getElementById('gone');
  var waiting = document.getElementById('waiting'), kinds = (body.getAttribute('data-live') || '').split(' ');
  var live = !!kinds[0], stream = null, open = false, fetching = false, again = false, stale = false;
  // The stream beats every two seconds; a page of a daemon that is not heard for five says so.
  var POLL = 10000, OLD = 25000, SILENT = 5000, DEAD = 15000, heard = now(), fetched = now();
  // The page itself: a form that was refused is shown at the address that it was sent to.
  var here = body.getAttribute('data-here') || location.pathname + location.search;

  function now() { return Date.now(); }
  function main() { return document.getElementById('main'); }
  function each(list, act) { Array.prototype.forEach.call(list, act); }

  // A form that somebody has begun to fill in, or that was refused, is never swapped away.
  function touched(field) {
    if (field === document.activeElement) { return true; }
    if (field.tagName === 'SELECT') {
      return field.selectedIndex !== Math.max(0, Array.prototype.findIndex.call(field.options, function (one) { return one.defaultSelected; }));
    }
    return field.value !== field.defaultValue && field.type !== 'checkbox' || !!field.checked !== !!field.defaultChecked;
  }
  function busy() {
    var fields = main().querySelectorAll('form input:not([type=hidden]), form select, textarea');
    return Array.prototype.some.call(fields, touched) || !!document.querySelector('dialog[open], main [aria-invalid]');
  }
  function reached(yes) {
    gone.hidden = yes;
    main().classList.toggle('dim', !yes);
    if (yes) { heard = now(); }
  }
  // Give the focus back to the same thing: by its id, else its address, the address of its form, or what it folds.
  function mark(one) {
    var form, folds;
    if (!one || !main().contains(one)) { return null; }
    if (one.id) { return '#' + one.id; }
    if (one.getAttribute('href')) { return 'a[href="' + one.getAttribute('href') + '"]'; }
    form = one.tagName === 'BUTTON' && one.form;
    if (form) { return 'form[action="' + form.getAttribute('action') + '"] button' + (one.name ? '[name="' + one.name + '"][value="' + one.value + '"]' : ''); }
    folds = one.tagName === 'SUMMARY' && one.parentNode.id;
    return folds ? '#' + folds + ' > summary' : null;
  }
  // The sound of a payment: `data-chime` names what is paid, `data-sound` on a button switches the sound.
  function paid() { var one = document.querySelector('[data-chime]'); return one ? one.getAttribute('data-chime') : ''; }
  function loud() { try { return localStorage.getItem('dash-sound') !== 'off'; } catch (ignored) { return true; } }
  function chime() {
    var Sound = window.AudioContext || window.webkitAudioContext, context = Sound && loud() ? new Sound() : null;
    if (!context) { return; }
    body.setAttribute('data-rang', paid());
    [659, 880, 1319].forEach(function (pitch, place) {
      var tone = context.createOscillator(), volume = context.createGain(), at = context.currentTime + place * 0.14;
      tone.frequency.value = pitch;
      volume.gain.setValueAtTime(0.25, at);
      volume.gain.exponentialRampToValueAtTime(0.001, at + 0.5);
      tone.connect(volume).connect(context.destination);
      tone.start(at);
      tone.stop(at + 0.5);
    });
  }
  function press(button) {
    var field = document.getElementById('f-amount'), digit = button.getAttribute('data-press'), typed = field.value;
    if (digit === '<') { field.value = typed.slice(0, -1); return; }
    if (digit === '.' ? typed.indexOf('.') < 0 : !/\.\d\d$/.test(typed)) { field.value = (digit === '.' && !typed ? '0' : typed) + digit; }
  }
  function swap(html) {
    var box = main(), focus = mark(document.activeElement), top = window.scrollY, open = [], found, before = paid();
    each(box.querySelectorAll('details[open][id]'), function (one) { open.push(one.id); });
    box.innerHTML = html;
    open.forEach(function (id) { found = document.getElementById(id); if (found) { found.open = true; } });
    if (focus) { found = box.querySelector(focus); if (found) { found.focus({ preventScroll: true }); } }
    window.scrollTo(0, top);
    dress(box);
    if (paid() && paid() !== before) { chime(); }
  }
  function ask(address) {
    var limit = window.AbortController ? new AbortController() : null;
    if (limit) { setTimeout(function () { limit.abort(); }, SILENT); }
    return fetch(address, {
      headers: { 'X-Fragment': '1' }, credentials: 'same-origin', redirect: 'manual', cache: 'no-store', signal: limit ? limit.signal : undefined
    });
  }
  function take() {
    if (fetching) { again = true; return; }
    fetching = true;
    waiting.hidden = true;
    var from = location.href;
    fetched = now();
    ask(here.replace(/([?&])said=\w*&?/, '$1').replace(/[?&]$/, '')).then(function (answer) {
      if (answer.type === 'opaqueredirect' || answer.status === 401) { location.assign(here); return null; }
      // A proxy answers 502 for a daemon that does not run.
      reached(answer.status < 500);
      return answer.ok ? answer.text() : null;
    }).then(function (html) {
      if (html !== null && from === location.href) {
        if (busy()) { waiting.hidden = false; } else { swap(html); }
      }
    }, function () { reached(false); }).then(function () {
      fetching = false;
      if (again) { again = false; take(); }
    });
  }
  function changed() {
    if (document.hidden) { stale = true; return; }
    if (busy()) { waiting.hidden = false; return; }
    take();
  }
  function listen() {
    if (!live || document.hidden || stream || !window.EventSource) { return; }
    stream = new EventSource('/dash/events');
    stream.onopen = function () { open = true; reached(true); };
    stream.onerror = function () {
      if (stream && stream.readyState === 2) { stream = null; }
      if (open) { open = false; setTimeout(tick, 2000); }
    };
    stream.addEventListener('beat', function () { reached(true); });
    ['now', 'review', 'line', 'delivery'].forEach(function (kind) {
      stream.addEventListener(kind, function (event) {
        var news = JSON.parse(event.data);
        heard = now();
        if (news.say && kind !== 'review') { say.textContent = news.say; }
        if (kinds.indexOf(kind) >= 0) { changed(); }
        document.dispatchEvent(new CustomEvent('dash:' + kind, { detail: news }));
      });
    });
    stream.addEventListener('over', function () { stop(); location.reload(); });
  }
  function stop() {
    if (stream) { stream.close(); stream = null; }
    open = false;
  }
  // Without a stream the page asks every ten seconds; with one, only the times in it grow old.
  function tick() {
    if (!live || document.hidden) { return; }
    if (stream && stream.readyState === 1) {
      if (now() - fetched > OLD && !busy()) { take(); }
    } else {
      if (!busy()) { take(); } else { ask('/dash/static/manifest.json').then(function (answer) { reached(answer.status < 500); }, function () { reached(false); }); }
      if (!stream) { listen(); }
    }
  }
  function watch() {
    if (!live || document.hidden || !open) { return; }
    if (now() - heard > SILENT) { reached(false); }
    // Nobody said that the connection ended, as without power or network.
    if (now() - heard > DEAD) { stop(); tick(); }
  }
  function back() {
    if (document.hidden) { stop(); return; }
    heard = now();
    listen();
    if (live) { stale = false; changed(); }
  }

  function copy(button) {
    var text = button.getAttribute('data-copy'), words = button.textContent, field;
    function done() { button.textContent = '✓'; setTimeout(function () { button.textContent = words; }, 1500); }
    if (navigator.clipboard && window.isSecureContext) { navigator.clipboard.writeText(text).then(done); return; }
    field = document.createElement('textarea');
    field.value = text;
    body.appendChild(field);
    field.select();
    if (document.execCommand('copy')) { done(); }
    body.removeChild(field);
  }
  function dress(box) {
    each(box.querySelectorAll('[data-copy],[data-print],[data-sound],[data-pad],[data-file]'), function (one) { one.hidden = false; });
    each(box.querySelectorAll('[data-sound]'), function (one) { one.setAttribute('aria-pressed', loud()); });
    // With the keypad on the page a phone needs no keyboard of its own.
    if (box.querySelector('[data-pad]')) { document.getElementById('f-amount').inputMode = 'none'; }
    // A page that shows a secret is left after some seconds, and is not in the history.
    each(box.querySelectorAll('a[data-leave]'), function (one) {
      setTimeout(function () { main().textContent = ''; location.replace(one.href); }, 1000 * one.getAttribute('data-leave'));
    });
  }
  document.addEventListener('click', function (event) {
    var target = event.target.closest ? event.target.closest('[data-copy],[data-print],[data-take],[data-press],[data-sound]') : null;
    var menu = document.querySelector('[data-menu][open]');
    if (menu && !menu.contains(event.target)) { menu.open = false; }
    if (!target) { return; }
    if (target.hasAttribute('data-copy')) { copy(target); }
    if (target.hasAttribute('data-press')) { press(target); }
    if (target.hasAttribute('data-sound')) {
      try { localStorage.setItem('dash-sound', loud() ? 'off' : 'on'); } catch (ignored) { return; }
      target.setAttribute('aria-pressed', loud());
      if (loud()) { chime(); }
    }
    if (target.hasAttribute('data-print')) { window.print(); }
    if (target.hasAttribute('data-take')) { location.assign(here); }
  });
  // A second click while the first is on its way sends nothing; the server would do nothing twice either.
  document.addEventListener('submit', function (event) {
    if (event.target.hasAttribute('data-sent')) { event.preventDefault(); return; }
    // The page is left now, so what its own post changes is no news for it: fetching it again would only delay the next page.
    if (event.target.method === 'post') { event.target.setAttribute('data-sent', ''); stop(); }
  });
  // Single keys press what has `data-key`, `/` goes to the search. localStorage `dash-keys` = `off` switches them off.
  document.addEventListener('keydown', function (event) {
    var menu = document.querySelector('[data-menu][open]'), found = null;
    if (event.key === 'Escape' && menu) { menu.open = false; menu.querySelector('summary').focus(); return; }
    // A key that is held down repeats itself; each press decides one thing.
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) { return; }
    try { if (localStorage.getItem('dash-keys') === 'off') { return; } } catch (ignored) { return; }
    if (event.key === '/') { found = document.querySelector('[data-search]'); if (found) { event.preventDefault(); found.focus(); } return; }
    if (/^[a-z?]$/.test(event.key)) {
      found = document.querySelector('[data-key="' + event.key + '"]');
      if (found) { event.preventDefault(); found.click(); }
    }
  });
  // A chosen file fills the field that is posted, which without script is pasted into.
  document.addEventListener('change', function (event) {
    var file = event.target.files && event.target.files[0], field = document.getElementById(event.target.getAttribute('data-into'));
    if (file && field) { file.text().then(function (text) { field.value = text; }); }
  });
  document.addEventListener('visibilitychange', back);
  window.addEventListener('online', back);
  window.addEventListener('offline', function () { reached(false); });
  window.addEventListener('pageshow', function (event) {
    each(document.querySelectorAll('form[data-sent]'), function (form) { form.removeAttribute('data-sent'); });
    if (event.persisted) { location.reload(); }
  });
  window.addEventListener('pagehide', stop);
  dress(document);
  listen();
  setInterval(tick, live ? POLL : 60000);
  setInterval(watch, 1000);
}());
