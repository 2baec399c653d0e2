(function () {
  'use strict';
  var page = document.getElementById('page'), said = document.getElementById('said');
  var base = location.pathname, query = location.search;
  var version = page.getAttribute('data-version'), ended = page.getAttribute('data-ended') === '1';
  var stream = null, timer = 0, going = 0, opened = now(), ends = opened + 1000 * page.getAttribute('data-seconds');

  // Seconds come from the server; a phone's clock is often wrong.
  function now() { return window.performance && performance.now ? performance.now() : +new Date(); }
  function all(what, then) {
    var found = page.querySelectorAll(what), at;
    for (at = 0; at < found.length; at += 1) { then(found[at]); }
  }
  function offline(is) {
    var note = document.getElementById('offline');
    if (note) { note.hidden = !is; }
  }
  function dress() {
    all('[data-copy],[data-print]', function (one) { one.hidden = false; });
    // The Phone app of iOS dials no codes with * or #.
    if (/iPhone|iPad|iPod/.test(navigator.userAgent)) { all('[data-dial]', function (one) { one.hidden = true; }); }
    tick();
  }
  function tick() {
    var left = document.getElementById('left'), seconds = Math.max(0, Math.ceil((ends - now()) / 1000));
    if (!left) { return; }
    left.hidden = seconds > 600;
    left.textContent = left.getAttribute('data-text').replace(
      '{time}', Math.floor(seconds / 60) + ':' + ('0' + seconds % 60).slice(-2)) + '.';
  }
  function take(text) {
    var news = JSON.parse(text), field = page.querySelector('input');
    offline(false);
    ends = now() + 1000 * news.seconds;
    if (news.version !== version && !(field && field.value && !news.ended)) {
      version = news.version;
      page.innerHTML = news.html;
      document.title = news.title;
      said.textContent = news.headline;
      dress();
      goBack();
    }
    if (news.ended) { ended = true; stop(); }
  }
  function goBack() {
    var link = page.querySelector('[data-return]'), note = document.getElementById('returning');
    if (!link) { return; }
    note.hidden = false;
    going = setTimeout(function () { location.href = link.href; }, 5000);
  }
  function ask() {
    var call = new XMLHttpRequest();
    rest();
    if (ended) { return; }
    call.open('GET', base + '/status' + query);
    call.setRequestHeader('If-None-Match', 'W/"' + version + '"');
    call.timeout = 20000;
    call.onload = function () {
      if (call.status === 200) { take(call.responseText); } else if (call.status === 304) { offline(false); }
      again();
    };
    call.onerror = call.ontimeout = function () { offline(true); again(); };
    call.send();
  }
  function rest() { clearTimeout(timer); timer = 0; }
  // A stream that fails over and over must not put off the next question each time.
  function again() {
    var since = now() - opened;
    if (timer || ended || document.hidden || (stream && stream.readyState === 1)) { return; }
    timer = setTimeout(ask, since < 120000 ? 5000 : since < 600000 ? 15000 : 60000);
  }
  function listen() {
    if (ended || !window.EventSource || (stream && stream.readyState !== 2)) { return again(); }
    stream = new EventSource(base + '/events' + query);
    stream.addEventListener('status', function (event) { take(event.data); });
    stream.onopen = function () { rest(); offline(false); };
    stream.onerror = function () { offline(navigator.onLine === false); again(); };
  }
  function stop() {
    rest();
    if (stream) { stream.close(); stream = null; }
  }
  // Whoever comes back from the dialler wants to know at once.
  function back() { if (!document.hidden && !ended) { ask(); listen(); } }

  function copy(button) {
    var text = button.getAttribute('data-copy'), words = button.textContent, field;
    function done() {
      button.textContent = said.textContent = button.getAttribute('data-done');
      setTimeout(function () { button.textContent = words; }, 2000);
    }
    function old() {
      field = document.createElement('textarea');
      field.value = text;
      document.body.appendChild(field);
      field.select();
      if (document.execCommand('copy')) { done(); }
      document.body.removeChild(field);
    }
    if (button.textContent === button.getAttribute('data-done')) { return; }
    if (navigator.clipboard && window.isSecureContext) { navigator.clipboard.writeText(text).then(done, old); } else { old(); }
  }
  page.addEventListener('click', function (event) {
    var target = event.target;
    if (target.hasAttribute('data-copy')) { copy(target); }
    if (target.hasAttribute('data-print')) { window.print(); }
    if (target.hasAttribute('data-stay')) { clearTimeout(going); document.getElementById('returning').hidden = true; }
  });
  document.addEventListener('visibilitychange', back);
  window.addEventListener('online', back);
  window.addEventListener('offline', function () { offline(true); });
  window.addEventListener('pageshow', function (event) { if (event.persisted) { back(); } });
  window.addEventListener('pagehide', stop);
  setInterval(tick, 1000);
  dress();
  listen();
}());
