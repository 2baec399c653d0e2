// The one script of the dashboard: live updates, keys, copy and print. Every page works without it.
(function () {
  'use strict';
  var body = document.body, say = document.getElementById('say'), gone = document.getElementById('gone');
  var waiting = document.getElementById('waiting'), kinds = (body.getAttribute('data-live') || '').split(' ');
  var live = !!kinds[0], stream = null, open = false, fetching = false, again = false;
  // The stream beats every two seconds; a page of a daemon that is not heard for five says so.
  var POLL = 10000, OLD = 25000, SILENT = 5000, DEAD = 15000, CALM = 1000, heard = now(), fetched = now(), shown = now();
  // The page itself: a form that was refused is shown at the address that it was sent to.
  var here = body.getAttribute('data-here') || location.pathname + location.search;

  function now() { return Date.now(); }
  function main() { return document.getElementById('main'); }
  function each(list, act) { Array.prototype.forEach.call(list, act); }

  // A form that somebody has begun to fill in, or that was refused, is never swapped away.
  function touched(field) {
    if (field === document.activeElement || field.hasAttribute('aria-invalid')) { return true; }
    if (field.options) { return field.selectedIndex !== Math.max(0, Array.prototype.findIndex.call(field.options, function (one) { return one.defaultSelected; })); }
    return field.value !== field.defaultValue && field.type !== 'checkbox' || !!field.checked !== !!field.defaultChecked;
  }
  function busy() {
    var fields = main().querySelectorAll('form input:not([type=hidden]), form select, textarea');
    return Array.prototype.some.call(fields, touched) || !!document.querySelector('dialog[open]');
  }
  function reached(yes) {
    gone.hidden = yes;
    main().classList.toggle('dim', !yes);
    if (yes) { heard = now(); }
  }
  // By this the focus is given back to the same thing: its id, else what it is, its address or that of its form, and its words.
  function known(one) { return one.id || [one.tagName, one.getAttribute('href'), one.form && one.form.getAttribute('action'), one.textContent].join(); }
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
    var box = main(), focused = document.activeElement, top = window.scrollY, unfolded = [], before = paid();
    focused = box !== focused && box.contains(focused) ? known(focused) : '';
    each(box.querySelectorAll('details[open][id]'), function (one) { unfolded.push(one.id); });
    box.innerHTML = html; shown = now();
    unfolded.forEach(function (id) { var found = document.getElementById(id); if (found) { found.open = true; } });
    if (focused) { each(box.querySelectorAll('a, button, summary, [id]'), function (one) { if (known(one) === focused) { one.focus({ preventScroll: true }); } }); }
    window.scrollTo(0, top);
    dress(box);
    if (paid() && paid() !== before) { chime(); }
  }
  function ask(address) {
    return fetch(address, { headers: { 'X-Fragment': '1' }, credentials: 'same-origin', redirect: 'manual', cache: 'no-store', signal: window.AbortSignal && AbortSignal.timeout ? AbortSignal.timeout(SILENT) : undefined });
  }
  function take() {
    if (fetching) { again = true; return; }
    fetching = waiting.hidden = true;
    fetched = now();
    ask(here.replace(/([?&])said=\w*&?/, '$1').replace(/[?&]$/, '')).then(function (answer) {
      if (answer.type === 'opaqueredirect' || answer.status === 401) { location.assign(here); return null; }
      // A proxy answers 502 for a daemon that does not run.
      reached(answer.status < 500);
      return answer.ok ? answer.text() : null;
    }).then(function (html) {
      if (html !== null && busy()) { waiting.hidden = false; } else if (html !== null) { swap(html); }
    }, function () { reached(false); }).then(function () {
      fetching = false;
      if (again) { again = false; take(); }
    });
  }
  function changed() {
    if (document.hidden) { return; }
    if (busy()) { waiting.hidden = false; } else { take(); }
  }
  function listen() {
    if (!live || document.hidden || stream || !window.EventSource) { return; }
    stream = new EventSource('/dash/events');
    stream.onopen = function () { open = true; reached(true); };
    stream.onerror = function () {
      if (stream && stream.readyState === 2) { stream = null; }
      if (open) { open = false; fetched = now() - POLL + 2000; }
    };
    stream.addEventListener('beat', function () { reached(true); });
    ['now', 'review', 'line', 'delivery'].forEach(function (kind) {
      stream.addEventListener(kind, function (event) {
        var news = JSON.parse(event.data);
        heard = now();
        if (news.say && kind !== 'review') { say.textContent = news.say; }
        if (kinds.indexOf(kind) >= 0) { changed(); }
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
    if (document.hidden) { return; }
    if (open && now() - heard > SILENT) { reached(false); }
    // Nobody said that the connection ended, as without power or network.
    if (open && now() - heard > DEAD) { stop(); fetched = 0; }
    if (now() - fetched < (open ? OLD : POLL)) { return; }
    fetched = now();
    if (!busy()) { take(); } else { ask('/dash/static/manifest.json').then(function (answer) { reached(answer.status < 500); }, function () { reached(false); }); }
    listen();
  }
  function back() {
    if (document.hidden) { stop(); return; }
    listen();
    if (live) { changed(); }
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
    // An answer within a second after it was shown was meant for what stood there before.
    if (event.target.hasAttribute('data-sent') || event.target.closest('[data-calm]') && now() - shown < CALM) { event.preventDefault(); return; }
    // The page is left now, so what its own post changes is no news for it: fetching it again would only delay the next page.
    if (event.target.method === 'post') { event.target.setAttribute('data-sent', ''); stop(); }
  });
  // Single keys press what has `data-key`; a button that changes something only gets the focus. localStorage `dash-keys` = `off` ends it.
  document.addEventListener('keydown', function (event) {
    var menu = document.querySelector('[data-menu][open]'), found = null;
    if (event.key === 'Escape' && menu) { menu.open = false; menu.querySelector('summary').focus(); return; }
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) { return; }
    try { if (localStorage.getItem('dash-keys') === 'off') { return; } } catch (ignored) { return; }
    if (event.key === '/') { found = document.querySelector('[data-search]'); if (found) { event.preventDefault(); found.focus(); } return; }
    if (/^[a-z?]$/.test(event.key)) {
      found = document.querySelector('[data-key="' + event.key + '"]');
      if (found) { event.preventDefault(); found[found.form && found.form.method === 'post' ? 'focus' : 'click'](); }
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
  if (live) { setInterval(tick, 1000); }
}());
