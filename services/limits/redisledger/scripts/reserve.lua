-- The answer: 1 for a reservation or 0, the place of the limit that has no room or 0, what counts as used of it, what was
-- asked for, the wait, 1 if it never fits or 0; then what is left of each limit and how long until it is reset.
local function answer(granted, worst)
  local a = { granted, worst and worst.place or 0, worst and worst.used or 0, worst and worst.requested or 0,
    worst and math.floor(worst.wait) or 0, worst and worst.never and 1 or 0 }
  for _, limit in ipairs(limits) do
    if limit.resource == 'concurrency' then
      a[#a + 1] = math.max(limit.max - runningNow(limit.model), 0)
      a[#a + 1] = 0
    else
      local b = load(limit.name)
      a[#a + 1] = math.max(limit.max - used(limit, b), 0)
      a[#a + 1] = math.floor(math.max(b.full - now, 0))
    end
  end
  return a
end

if redis.call('EXISTS', record) == 1 then
  return answer(1)
end

local worst
for place, limit in ipairs(limits) do
  local r = { place = place, requested = 1, wait = 0, never = false }
  local full
  if limit.resource == 'concurrency' then
    r.used = runningNow(limit.model)
    full = r.used >= limit.max
  else
    if limit.resource == 'tokens' then
      r.requested = tokens
    end
    if r.requested > 0 then
      local b = load(limit.name)
      r.used = used(limit, b)
      r.never = r.requested > limit.max
      full = r.never
      if not full then
        local excess = math.max(b.full, now) + cost(limit, r.requested) - now - limit.window - slack
        full = excess > 0
        r.wait = excess + slack
      end
    end
  end
  if full and (not worst or not worst.never and (r.never or r.wait > worst.wait)) then
    worst = r
  end
end
if worst then
  count('refused', model, 1)
  return answer(0, worst)
end

local ends = {}
for _, limit in ipairs(limits) do
  if limit.resource == 'requests' then
    charge(limit, 1)
  elseif limit.resource == 'tokens' then
    ends[#ends + 1] = { limit = limit, last = charge(limit, tokens) }
  end
end
redis.call('SET', record, cmsgpack.pack({ model = model, tokens = tokens, at = now, ends = ends }), 'PX', openLifetime)
redis.call('ZADD', open, string.format('%.17g', now), member(model, tokens))
occupy(model, 1)
count('requests', model, 1)
count('reserved', model, tokens)
count('open', model, tokens)
count('open_requests', model, 1)
return answer(1)
