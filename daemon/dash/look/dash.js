// Live updates, keys, copy and print. `form.js` sends the forms, `till.js` is the till. Every page works without scripts.
(function () {
  'use strict';
  var now = Date.now, body = document.body, say = document.getElementById('say'), gone = document.getElementById('gone');
  var waiting = document.getElementById('waiting'), kinds = (body.getAttribute('data-live') || '').split(' ');
  var live = !!kinds[0], stream = null, open = false, fetching = false, again = false;
  // The stream beats every two seconds; a page of a daemon that is not heard for five says so.
  var POLL = 10000, OLD = 25000, SILENT = 5000, DEAD = 15000, CALM = 1000, heard = now(), fetched = now(), shown = now();
  // The page itself: a form that was refused is shown at the address that it was sent to.
  var here = body.getAttribute('data-here') || location.pathname + location.search;

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
  // A hidden tab fetches nothing, except that of a till: it tells of payments by its title, a sound and a notification.
  function away() { return document.hidden && !main().querySelector('[data-tells]'); }
  function swapped() { dress(main()); document.dispatchEvent(new CustomEvent('momo:swapped')); }
  // While somebody types only the parts of the page are swapped that have no field in use.
  function parts(html) {
    var found = main().querySelectorAll('[data-part]'), fresh = document.createElement('template');
    fresh.innerHTML = html;
    each(found, function (part) {
      var other = fresh.content.getElementById(part.id);
      if (other && !part.contains(document.activeElement)) { part.innerHTML = other.innerHTML; }
    });
    if (found.length) { swapped(); } else { waiting.hidden = false; }
  }
  function swap(html) {
    var box = main(), focused = document.activeElement, top = window.scrollY, unfolded = [];
    focused = box !== focused && box.contains(focused) ? known(focused) : '';
    each(box.querySelectorAll('details[open][id]'), function (one) { unfolded.push(one.id); });
    box.innerHTML = html; shown = now();
    unfolded.forEach(function (id) { var found = document.getElementById(id); if (found) { found.open = true; } });
    if (focused) { each(box.querySelectorAll('a, button, summary, [id]'), function (one) { if (known(one) === focused) { one.focus({ preventScroll: true }); } }); }
    window.scrollTo(0, top);
    swapped();
  }
  function ask(address) {
    return fetch(address, { headers: { 'X-Fragment': '1' }, credentials: 'same-origin', redirect: 'manual', cache: 'no-store', signal: window.AbortSignal && AbortSignal.timeout ? AbortSignal.timeout(SILENT) : undefined });
  }
  function take() {
    if (fetching) { again = true; return; }
    fetching = waiting.hidden = true; fetched = now();
    ask(here.replace(/([?&])said=\w*&?/, '$1').replace(/[?&]$/, '')).then(function (answer) {
      if (answer.type === 'opaqueredirect' || answer.status === 401) { location.assign(here); return null; }
      // A proxy answers 502 for a daemon that does not run.
      reached(answer.status < 500);
      return answer.ok ? answer.text() : null;
    }).then(function (html) {
      var count = /data-count="(\d+)"/.exec(html); // the menu stands outside the part that is swapped
      if (count) { each(document.querySelectorAll('.count'), function (one) { one.textContent = count[1]; one.hidden = count[1] === '0'; }); }
      if (html !== null && busy()) { parts(html); } else if (html !== null) { swap(html); }
    }, function () { reached(false); }).then(function () {
      fetching = false;
      if (again) { again = false; take(); }
    });
  }
  function held() { return busy() && !main().querySelector('[data-part]'); }
  function changed() { if (!away()) { if (held()) { waiting.hidden = false; } else { take(); } } }
  function listen() {
    if (!live || away() || stream || !window.EventSource) { return; }
    stream = new EventSource('/dash/events' + (body.getAttribute('data-of') || ''));
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
    stream.addEventListener('over', function () { stop(); document.dispatchEvent(new CustomEvent('momo:over')); location.reload(); });
  }
  function stop() { if (stream) { stream.close(); } stream = null; open = false; }
  // Without a stream the page asks every ten seconds; with one, only the times in it grow old.
  function tick() {
    if (away()) { return; }
    if (open && now() - heard > SILENT) { reached(false); }
    // Nobody said that the connection ended, as without power or network.
    if (open && now() - heard > DEAD) { stop(); fetched = 0; }
    if (now() - fetched < (open ? OLD : POLL)) { return; }
    fetched = now();
    if (!held()) { take(); } else { ask('/dash/static/manifest.json').then(function (answer) { reached(answer.status < 500); }, function () { reached(false); }); }
    listen();
  }
  function back() { if (away()) { stop(); } else { listen(); if (live) { changed(); } } }

  function copy(button) {
    var text = button.getAttribute('data-copy'), words = button.textContent, field;
    function done() { button.textContent = '✓'; setTimeout(function () { button.textContent = words; }, 1500); }
    function byHand() {
      field = body.appendChild(document.createElement('textarea'));
      field.value = text; field.select();
      if (document.execCommand('copy')) { done(); }
      body.removeChild(field);
    }
    if (navigator.clipboard && window.isSecureContext) { navigator.clipboard.writeText(text).then(done, byHand); } else { byHand(); }
  }
  function dress(box) {
    each(box.querySelectorAll('[data-copy],[data-print],[data-file]'), function (one) { one.hidden = false; });
    // A page that shows a secret is left after some seconds, and is not in the history.
    each(box.querySelectorAll('a[data-leave]'), function (one) {
      setTimeout(function () { main().textContent = ''; location.replace(one.href); }, 1000 * one.getAttribute('data-leave'));
    });
    // What is shown for some seconds, such as a payment on the screen for customers.
    each(box.querySelectorAll('[data-again]'), function (one) { setTimeout(take, 1000 * one.getAttribute('data-again')); });
  }
  document.addEventListener('click', function (event) {
    var target = event.target.closest ? event.target.closest('[data-copy],[data-print],[data-take]') : null;
    var menu = document.querySelector('[data-menu][open]');
    if (menu && !menu.contains(event.target)) { menu.open = false; }
    if (!target) { return; }
    if (target.hasAttribute('data-copy')) { copy(target); }
    if (target.hasAttribute('data-print')) { window.print(); }
    if (target.hasAttribute('data-take')) { location.assign(here); }
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
    var file = event.target.files && event.target.files[0], field = document.getElementById(event.target.getAttribute('data-into')), reader = new FileReader();
    reader.onload = function () { field.value = reader.result; if (field.type === 'hidden') { document.getElementById(field.id + '-name').value = file.name; } };
    if (event.target.hasAttribute('data-hides')) { document.getElementById('f-reply').type = event.target.checked ? 'password' : 'text'; }
    if (file && field) { reader[field.type === 'hidden' ? 'readAsDataURL' : 'readAsText'](file); }
  });
  document.addEventListener('visibilitychange', back);
  window.addEventListener('online', back);
  window.addEventListener('pageshow', function (event) {
    if (event.persisted) { location.reload(); }
  });
  window.addEventListener('pagehide', stop);
  // What the other scripts need: `put` shows the answer to a form, which may be a page that is shown once and fetches nothing.
  window.momo = {
    each: each, main: main, say: say, touched: touched, listen: listen, stop: stop,
    fresh: function () { return now() - shown < CALM; },
    put: function (page) {
      var fresh = page.getElementById('main');
      live = live && fresh.hasAttribute('data-fragment');
      document.title = page.title;
      main().innerHTML = fresh.innerHTML; shown = now();
      swapped();
      window.scrollTo(0, 0);
      fresh = main().querySelector('[autofocus], [aria-invalid]');
      if (fresh) { fresh.focus(); }
      listen();
    }
  };
  dress(document);
  listen();
  if (live) { setInterval(tick, 1000); }
}());
